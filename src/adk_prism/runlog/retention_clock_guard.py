"""Protects retention against a wrong system clock.

The wall clock is set by people and services, and one wrong reading would make everything look old. So
- the age limit is taken from two readings some minutes apart, and the earlier one counts;
- both must agree with the monotonic clock: the same time has passed on either. After a jump nothing is
  removed until two readings agree again;
- in an hour only a small share may be removed, so that an operator can notice. The share follows
  from the age limit: normally `hour / age` becomes too old in an hour, and four times that may be removed.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

HOUR = 3600.0

TOLERANCE = 60.0
"""Seconds that two clocks may differ between two readings: a time service corrects more only by a jump."""

AHEAD = 4.0
"""How much faster than normal things may be removed: to catch up after a pause."""

LOWEST_SHARE = 0.01
"""Of what is kept, in an hour, however long it is kept."""

Clock = Callable[[], float]


class RetentionGuard:
    """Decides what is old enough to be removed, and how much of it."""

    def __init__(
        self, max_age: float, wall: Clock = time.time, monotonic: Clock = time.monotonic
    ) -> None:
        self._max_age = max_age
        self._wall = wall
        self._monotonic = monotonic
        self._before: tuple[float, float] | None = None
        """The last reading of both clocks."""
        self._gone: deque[tuple[float, int]] = deque()
        """When how many were removed, in the last hour."""

    @property
    def share(self) -> float:
        """The share of what is kept that may be removed in an hour."""
        return min(1.0, max(LOWEST_SHARE, AHEAD * HOUR / self._max_age))

    def look(self) -> float | None:
        """Read the clocks. Return the time before which something must have ended to be too old.

        None at the first reading, and after a jump of the clock: then nothing is too old.
        """
        wall, steady = self._wall(), self._monotonic()
        before, self._before = self._before, (wall, steady)
        if before is None or abs((wall - before[0]) - (steady - before[1])) > TOLERANCE:
            return None
        return min(wall, before[0]) - self._max_age

    @property
    def seems_old(self) -> float:
        """The same if the last reading is right: for reports, not for removals."""
        return (self._before[0] if self._before else self._wall()) - self._max_age

    def allowance(self, kept: int) -> int:
        """Return how many of those that are kept may be removed now."""
        now = self._monotonic()
        while self._gone and self._gone[0][0] <= now - HOUR:
            self._gone.popleft()
        gone = sum(count for _, count in self._gone)
        return max(0, max(1, math.ceil((kept + gone) * self.share)) - gone)

    def note(self, count: int) -> None:
        """Note that some were removed."""
        if count:
            self._gone.append((self._monotonic(), count))
