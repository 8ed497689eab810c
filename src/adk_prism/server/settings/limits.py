"""How much callers may send, have and use, and how long streams wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.limits.caller_limits import USUAL
from adk_prism.server.settings.option_kinds import (
    SIZE,
    SPAN,
    Option,
    count,
)

LONGEST_KEEP_ALIVE = 15.0
"""Proxies and load balancers commonly cut a silent connection at 30 or 60 seconds."""

_MOST = count(1, 1_000_000)

_AUTOMATIC = "without: {} with authentication, else unlimited"


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """How much callers may send, have and use, and how long streams wait."""

    body_limit: Annotated[int, Option(SIZE, "largest request body")] = 8 * 1024**2
    history_limit: Annotated[
        int,
        Option(SIZE, "largest body of a chat request, including the history that clients send"),
    ] = 64 * 1024**2
    upload_limit: Annotated[int, Option(SIZE, "largest recording that can be uploaded")] = (
        64 * 1024**2
    )
    limit_runs: Annotated[
        int, Option(_MOST, f"concurrent runs of one user; {_AUTOMATIC.format(USUAL.runs)}")
    ] = 0
    limit_requests: Annotated[
        int,
        Option(
            _MOST,
            "concurrent requests of one caller, including streams;"
            f" {_AUTOMATIC.format(USUAL.requests)}",
        ),
    ] = 0
    limit_sockets: Annotated[
        int,
        Option(_MOST, f"concurrent WebSockets of one caller; {_AUTOMATIC.format(USUAL.sockets)}"),
    ] = 0
    limit_rate: Annotated[
        int,
        Option(_MOST, f"requests per second of one caller; {_AUTOMATIC.format(USUAL.rate)}"),
    ] = 0
    limit_bytes: Annotated[
        int,
        Option(
            SIZE,
            f"bytes per second to and from one caller; {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}",
        ),
    ] = 0
    limit_run_time: Annotated[
        float,
        Option(
            SPAN,
            f"longest duration of a run; {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}",
        ),
    ] = 0.0
    limit_unwatched: Annotated[
        float,
        Option(
            SPAN,
            "how long a run may continue without a client;"
            f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}",
        ),
    ] = 0.0
    keep_alive: Annotated[
        float, Option(SPAN, "longest silence on a stream before a keep-alive comment")
    ] = LONGEST_KEEP_ALIVE
    stalled: Annotated[
        float, Option(SPAN, "how long a client may read nothing before its stream is closed")
    ] = 2 * LONGEST_KEEP_ALIVE
    """Such a reader is gone or stopped, and what it misses is in the log."""
    grace: Annotated[
        float, Option(SPAN, "how long active runs may continue when the server is stopped")
    ] = 30.0
