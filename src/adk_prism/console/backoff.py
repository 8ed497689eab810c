"""Exponential backoff for reconnecting, with an upper limit."""

from __future__ import annotations

FIRST = 0.25
"""Seconds. A server that is being restarted is back within one."""
LONGEST = 5.0
"""Most seconds between two attempts, so that a waiting user sees progress."""
PATIENCE = 120.0
"""Total seconds of waiting: enough for a deployment or a laptop that wakes up."""


class Backoff:
    """The waits of one outage."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._next = FIRST
        self._waited = 0.0

    def wait(self) -> float | None:
        """Return the seconds before the next attempt, or None to give up."""
        if self._waited >= self._patience:
            return None
        seconds = self._next
        self._waited += seconds
        self._next = min(seconds * 2, LONGEST)
        return seconds

    def reset(self) -> None:
        """Start over: the server answered."""
        self._next, self._waited = FIRST, 0.0
