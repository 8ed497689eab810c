"""A token bucket: a rate limit that allows bursts."""

from __future__ import annotations


class TokenBucket:
    """Refills by `rate` tokens per second, up to `size`. Its level may become negative."""

    __slots__ = ("_filled", "_level", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._level = size
        self._filled = now

    def take(self, amount: float, now: float) -> None:
        """Take tokens, even if there are not enough."""
        self._fill(now)
        self._level -= amount

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds there are enough tokens; 0: now."""
        self._fill(now)
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full."""
        self._fill(now)
        return self._level >= self._size

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now
