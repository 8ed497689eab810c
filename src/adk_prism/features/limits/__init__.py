"""How much one caller may have and use at a time: runs, requests, sockets, bytes.

With authentication the defaults apply; without, only what is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from adk_prism.extension import Extension, Limiter, LimiterParts, Limiters
from adk_prism.options import SIZE, SPAN, FeatureSettings, count

if TYPE_CHECKING:
    from adk_prism.server.settings import Settings


class CallerLimits(NamedTuple):
    """The maximum of each; 0: unlimited."""

    runs: int = 0
    """Concurrent runs of one user."""
    requests: int = 0
    """Concurrent requests; a stream is one."""
    sockets: int = 0
    rate: int = 0
    """Requests per second."""
    bytes: int = 0
    """Bytes per second, sent and received together."""
    run_time: float = 0.0
    unwatched: float = 0.0
    """Seconds that a run may continue without a client."""


USUAL = CallerLimits(
    runs=20,
    requests=100,
    sockets=20,
    rate=100,
    bytes=32 * 1024**2,
    run_time=3600.0,
    unwatched=900.0,
)
"""The defaults with authentication: all windows of one busy person, and far less than a machine has."""

NONE = CallerLimits()

_MOST = count(1, 1_000_000)
_AUTOMATIC = "(default: {} with authentication, else no limit)"


@dataclass(frozen=True, kw_only=True)
class LimitSettings(FeatureSettings):
    """What one caller may have at a time."""

    title: ClassVar[str] = "Limits"
    limit_runs: int = _MOST.option(
        f"runs that one user may have at the same time {_AUTOMATIC.format(USUAL.runs)}"
    )
    limit_requests: int = _MOST.option(
        "requests, streams included, that one caller may have at the same time"
        f" {_AUTOMATIC.format(USUAL.requests)}"
    )
    limit_sockets: int = _MOST.option(
        f"WebSockets that one caller may have at the same time {_AUTOMATIC.format(USUAL.sockets)}"
    )
    limit_rate: int = _MOST.option(
        f"requests that one caller may send per second {_AUTOMATIC.format(USUAL.rate)}"
    )
    limit_bytes: int = SIZE.option(
        f"bytes per second to and from one caller {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}"
    )
    limit_run_time: float = SPAN.option(
        f"longest time that a run may take {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}"
    )
    limit_unwatched: float = SPAN.option(
        "how long a run may continue when no client watches it"
        f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}"
    )

    def clash(self, settings: Settings) -> str:
        """Return what is wrong with the combination with other settings."""
        if self.limit_unwatched and settings.has_shared_log:
            return (
                "--limit-unwatched cannot be used with a shared run log: clients may be connected to"
                " another process."
            )
        return ""


def limits_of(settings: Settings, *, known: bool) -> CallerLimits:
    """Return what one caller may have: as set, else as is usual where callers have to be `known`."""
    usual = USUAL if known else NONE
    if settings.has_shared_log:
        usual = usual._replace(unwatched=0.0)  # who watches elsewhere is not known here
    own = settings.of(LimitSettings)
    given = {name: getattr(own, f"limit_{name}") for name in usual._fields}
    return usual._replace(**{name: value for name, value in given.items() if value})


def _limiter(parts: LimiterParts) -> Limiter | None:
    limits = limits_of(parts.settings, known=parts.known)
    if not any(limits):
        return None
    from adk_prism.features.limits.callers import RequestLimiter
    from adk_prism.features.limits.runs import RunLimiter
    from adk_prism.features.limits.shared import SharedLimits

    refused, counts = parts.observability.meter.refused, parts.coordination.counters()
    shared = SharedLimits(counts, parts.observability.report) if counts is not None else None
    if shared is not None:
        parts.lifecycle.hold(shared.counting)
    return Limiters(
        [RequestLimiter(limits, refused, shared=shared), RunLimiter(limits, refused, shared)]
    )


EXTENSION = Extension(
    name="limits",
    summary="limits of one caller: runs, requests, sockets, bytes, time (--limit-…)",
    settings=lambda: LimitSettings,
    limiter=_limiter,
)
