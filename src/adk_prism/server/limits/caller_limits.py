"""The most that one caller may have, and what is usual."""

from __future__ import annotations

from typing import NamedTuple


class CallerLimits(NamedTuple):
    """The most of each; 0 is no limit."""

    runs: int = 0
    """At a time, of one user."""
    requests: int = 0
    """Open at a time: every stream is one."""
    sockets: int = 0
    rate: int = 0
    """Requests a second."""
    bytes: int = 0
    """A second, both ways together."""
    run_time: float = 0.0
    unwatched: float = 0.0
    """Seconds that a run may go on while nobody watches it."""


USUAL = CallerLimits(
    runs=20,
    requests=100,
    sockets=20,
    rate=100,
    bytes=32 * 1024**2,
    run_time=3600.0,
    unwatched=900.0,
)
"""Where callers have to be known: the windows of one busy person, and far less than a machine has."""

NONE = CallerLimits()
