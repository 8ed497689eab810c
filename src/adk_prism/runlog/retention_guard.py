"""When something may be removed for its age, though every clock can be wrong.

The time of day is set by people and services, and one wrong reading would make everything old. So
- a limit is taken from two readings that lie some minutes apart, and the earlier one counts;
- both have to agree with the clock that nobody sets: between them as much time has passed by either. After
  a jump nothing is removed until two readings agree again;
- in an hour only a small share of what is kept may go, so that somebody can notice. It follows from the age
  itself: with the usual flow a share of `hour / age` becomes too old in an hour, and four times that may go.
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
"""How much faster than the usual flow things may go: what a pause has left is made up for."""

LOWEST_SHARE = 0.01
"""Of what is kept, in an hour, however long it is kept."""

Clock = Callable[[], float]


class RetentionGuard:
    """Decides up to which time of day things are old."""

    def __init__(
        self, max_age: float, wall: Clock = time.time, monotonic: Clock = time.monotonic
    ) -> None:
        self._max_age = max_age
        self._wall = wall
        self._monotonic = monotonic
        self._before: tuple[float, float] | None = None
        """The last reading of both clocks."""
        self._gone: deque[tuple[float, int]] = deque()
        """When how many went, in the last hour."""

    @property
    def share(self) -> float:
        """How much of what is kept may go in an hour."""
        return min(1.0, max(LOWEST_SHARE, AHEAD * HOUR / self._max_age))

    def look(self) -> float | None:
        """Read the clocks. Return before when things must have been left alone to be too old.

        None with the first reading, and after a jump of the clock: then nothing is.
        """
        wall, steady = self._wall(), self._monotonic()
        before, self._before = self._before, (wall, steady)
        if before is None or abs((wall - before[0]) - (steady - before[1])) > TOLERANCE:
            return None
        return min(wall, before[0]) - self._max_age

    @property
    def seems_old(self) -> float:
        """Before when things would be too old if the last reading were right: to be told, not acted on."""
        return (self._before[0] if self._before else self._wall()) - self._max_age

    def allowance(self, kept: int) -> int:
        """Return how many of those that are kept may go now."""
        now = self._monotonic()
        while self._gone and self._gone[0][0] <= now - HOUR:
            self._gone.popleft()
        gone = sum(count for _, count in self._gone)
        return max(0, max(1, math.ceil((kept + gone) * self.share)) - gone)

    def note(self, count: int) -> None:
        """Note that some went."""
        if count:
            self._gone.append((self._monotonic(), count))
