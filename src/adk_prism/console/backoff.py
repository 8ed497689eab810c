"""How long to wait before a lost server is tried again: soon at first, then slower, and not for ever."""

from __future__ import annotations

FIRST = 0.25
"""Seconds. A server that is being restarted is back within one."""
LONGEST = 5.0
"""Seconds between two tries: a person who waits sees that something happens."""
PATIENCE = 120.0
"""Seconds of waiting in all: a deployment, a laptop that wakes up. Then the person decides."""


class Backoff:
    """The waits of one loss."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._next = FIRST
        self._waited = 0.0

    def wait(self) -> float | None:
        """Return the seconds before the next try; None when it is time to give up."""
        if self._waited >= self._patience:
            return None
        seconds = self._next
        self._waited += seconds
        self._next = min(seconds * 2, LONGEST)
        return seconds

    def reset(self) -> None:
        """Begin anew: the server was there."""
        self._next, self._waited = FIRST, 0.0
