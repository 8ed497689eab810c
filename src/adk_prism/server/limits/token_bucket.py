"""A rate with some room: so much per second, and a second's worth at once."""

from __future__ import annotations


class TokenBucket:
    """Fills by `rate` a second, up to its `size`; what is taken may leave it in debt."""

    __slots__ = ("_filled", "_level", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._level = size
        self._filled = now

    def take(self, amount: float, now: float) -> None:
        """Take an amount, whether it is there or not."""
        self._fill(now)
        self._level -= amount

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds an amount is there; 0: now."""
        self._fill(now)
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Tell whether nothing was taken that has not come back."""
        self._fill(now)
        return self._level >= self._size

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now
