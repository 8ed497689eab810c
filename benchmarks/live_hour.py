"""L: an hour of talking, at speed: what one live session leaves in memory.

A piece of 20 ms each way, 180,000 times, in one session, with the run log in SQLite. An hour of the agent's
sound alone is 170 MB; the log keeps eleven minutes of it, on disk.
"""

from __future__ import annotations

from benchmarks.child import child
from benchmarks.live import PACE, talk_binary
from benchmarks.table import Row

HOUR = int(3600 / PACE)
FIRST = int(300 / PACE)
"""Pieces of the first five minutes, after which all caches are warm."""


def rows(*, quick: bool) -> list[Row]:
    """Talk for an hour, or with `quick` for a quarter of one."""
    pieces = HOUR // 4 if quick else HOUR
    with child("prism") as server, talk_binary(server) as exchange:
        for _ in range(FIRST):
            exchange()
        first = server.resident()
        for _ in range(pieces - FIRST):
            exchange()
        last = server.resident()
    told = f"memory after {pieces * PACE / 60:.0f} minutes of a live session, against 5 minutes"
    return [Row(told, _megabytes(last), _megabytes(first), last / first, 1.1)]


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB"
