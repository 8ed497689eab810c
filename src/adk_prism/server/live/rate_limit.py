"""How fast a client may talk: a bucket that fills with time, and empties with each message."""

from __future__ import annotations

PER_SECOND = 100.0
"""Messages, sound apart: more than a person or a page has to say."""
BURST = 500.0


class MessageRateLimit:
    """The pace of one client."""

    def __init__(self, now: float) -> None:
        self._left = BURST
        self._last = now

    def allows(self, now: float) -> bool:
        """Take one more message; tell whether the client is still within bounds."""
        self._left = min(BURST, self._left + (now - self._last) * PER_SECOND)
        self._last = now
        self._left -= 1
        return self._left >= 0
