"""How much callers may send, have and use, and how long streams wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.limits.caller_limits import USUAL
from adk_prism.server.settings.option_kinds import SIZE, SPAN, Option, count

LONGEST_KEEP_ALIVE = 15.0
"""Proxies and load balancers commonly cut a silent connection at 30 or 60 seconds."""

_MOST = count(1, 1_000_000)

_AUTOMATIC = "(default: {} with authentication, else no limit)"


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """How much callers may send, have and use, and how long streams wait."""

    body_limit: Annotated[int, Option(SIZE, "largest request body that is accepted")] = 8 * 1024**2
    history_limit: Annotated[
        int,
        Option(SIZE, "largest body of a chat request, including the history that clients send"),
    ] = 64 * 1024**2
    upload_limit: Annotated[int, Option(SIZE, "largest recording that can be uploaded")] = (
        64 * 1024**2
    )
    limit_runs: Annotated[
        int,
        Option(
            _MOST, f"runs that one user may have at the same time {_AUTOMATIC.format(USUAL.runs)}"
        ),
    ] = 0
    limit_requests: Annotated[
        int,
        Option(
            _MOST,
            "requests, streams included, that one caller may have at the same time"
            f" {_AUTOMATIC.format(USUAL.requests)}",
        ),
    ] = 0
    limit_sockets: Annotated[
        int,
        Option(
            _MOST,
            f"WebSockets that one caller may have at the same time {_AUTOMATIC.format(USUAL.sockets)}",
        ),
    ] = 0
    limit_rate: Annotated[
        int,
        Option(
            _MOST, f"requests that one caller may send per second {_AUTOMATIC.format(USUAL.rate)}"
        ),
    ] = 0
    limit_bytes: Annotated[
        int,
        Option(
            SIZE,
            f"bytes per second to and from one caller {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}",
        ),
    ] = 0
    limit_run_time: Annotated[
        float,
        Option(
            SPAN,
            f"longest time that a run may take {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}",
        ),
    ] = 0.0
    limit_unwatched: Annotated[
        float,
        Option(
            SPAN,
            "how long a run may continue when no client watches it"
            f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}",
        ),
    ] = 0.0
    keep_alive: Annotated[
        float,
        Option(
            SPAN, "how long a stream may be silent before the server sends a keep-alive comment"
        ),
    ] = LONGEST_KEEP_ALIVE
    stalled: Annotated[
        float, Option(SPAN, "how long a client may read nothing before its stream is closed")
    ] = 2 * LONGEST_KEEP_ALIVE
    """Such a reader is gone or stopped, and what it misses is in the log."""
    grace: Annotated[
        float, Option(SPAN, "how long active runs may continue when the server is stopped")
    ] = 30.0
