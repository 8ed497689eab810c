"""The limits of one caller, and their defaults."""

from __future__ import annotations

from typing import NamedTuple


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
