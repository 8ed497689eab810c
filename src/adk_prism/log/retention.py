"""Which ended runs are removed: the same decision for every backend.

Knows no storage. A run is removed completely or not at all, and only after its end. A backend remembers the
ids of the runs removed last, so that it can answer *gone* and not *not found*.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct

from adk_prism.log.contract import Retention, TrimmedRun
from adk_prism.log.entry import Origin, RunId

MAX_TOMBSTONES = 100_000
"""Ids of removed runs that are remembered, some MB in all. After that many later removals the answer is
*not found*, which is true as well."""


class EndedRun(Struct, frozen=True, gc=False):
    """What the decision needs to know of a run."""

    run: RunId
    ended: float
    """By this server's clock: what a client says about its runs does not count."""
    bytes: int
    origin: Origin

    @property
    def owner(self) -> str:
        return self.origin.user


def runs_to_trim(
    candidates: Iterable[EndedRun], total: int, retention: Retention, now: float
) -> list[TrimmedRun]:
    """Return the ended runs to remove: those that are too old, the longest ended first; then, for their size,
    always the longest ended of the user who has most.

    So one user's runs never push out those of another who has less. `total` is the size of all runs together,
    also of those that have not ended.
    """
    runs = sorted(candidates, key=lambda run: run.ended)
    left = math.inf if retention.most_aged is None else retention.most_aged
    chosen: list[TrimmedRun] = []
    kept: dict[str, deque[EndedRun]] = {}
    for run in runs:
        if now - run.ended > retention.max_age and left > 0:
            left -= 1
            total -= run.bytes
            chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "age"))
        else:
            kept.setdefault(run.owner, deque()).append(run)
    return chosen + _for_their_size(kept, total - retention.max_bytes)


def _for_their_size(kept: dict[str, deque[EndedRun]], excess: float) -> list[TrimmedRun]:
    """Return the runs whose removal frees so many bytes."""
    if excess <= 0:
        return []
    # Who has equally much goes by who ended a run first.
    sizes = [
        (-sum(run.bytes for run in runs), runs[0].ended, owner) for owner, runs in kept.items()
    ]
    heapq.heapify(sizes)
    chosen: list[TrimmedRun] = []
    while excess > 0 and sizes:
        size, _, owner = heapq.heappop(sizes)
        run = kept[owner].popleft()
        excess -= run.bytes
        chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "size"))
        if kept[owner]:
            heapq.heappush(sizes, (size + run.bytes, kept[owner][0].ended, owner))
    return chosen


# --------------------------------------------------------------------------- retention clock guard

# Protects retention against a wrong system clock.
#
# The wall clock is set by people and services, and one wrong reading would make everything look old. So
# - the age limit is taken from two readings some minutes apart, and the earlier one counts;
# - both must agree with the monotonic clock: the same time has passed on either. After a jump nothing is
#   removed until two readings agree again;
# - in an hour only a small share may be removed, so that an operator can notice. The share follows
#   from the age limit: normally `hour / age` becomes too old in an hour, and four times that may be removed.

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
