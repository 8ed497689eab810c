"""Removes runs that are past their retention: for their age, or because there are too many bytes.

Removal for age needs two readings of the clock, takes a small share an hour (`RetentionGuard`), and is
reported to the operator before. What goes for its size is reported as it goes.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from msgspec import structs

from adk_prism import errors
from adk_prism.log.contract import Retention, RunLog, TrimmedRun
from adk_prism.runs.session_log import AuditedAction, WriteAudit

# ---------------------------------------------------------------------------
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


# ---------------------------------------------------------------------------


class Announcer:
    """Tells the operator what is going to be removed, and what was: once an hour at most."""

    def __init__(self, what: str, share: float, report: errors.Report) -> None:
        self._what = what
        self._share = share
        self._report = report
        self._removed = 0
        self._last = -math.inf

    def removed(self, count: int) -> None:
        """Note that some were removed."""
        self._removed += count

    def announce(self, old: int, kept: int) -> None:
        """Report how many are too old, if there are any and it was not reported lately."""
        now = time.monotonic()
        if not (old or self._removed) or now - self._last < HOUR:
            return
        self._last = now
        detail = (
            f"{old} of {kept} {self._what} are past their age; at most {self._share:.0%} go in an hour."
            f" Removed since the last line: {self._removed}"
        )
        self._removed = 0
        self._report(errors.Diagnostic(kind="retention", detail=detail))


class RunRetention:
    """Removes runs."""

    def __init__(
        self,
        log: RunLog,
        retention: Retention,
        report: errors.Report,
        guard: RetentionGuard | None = None,
    ) -> None:
        self._log = log
        self._retention = retention
        self._guard = guard or RetentionGuard(retention.max_age)
        self._announcer = Announcer("runs", self._guard.share, report)

    async def __call__(self) -> None:
        """Look once. Raise `LogError`."""
        limit = self._guard.look()
        ended = [run.ended for run in await self._log.list() if run.ended is not None]
        old = sum(each < self._guard.seems_old for each in ended)
        self._announcer.announce(old, len(ended))
        # Without a limit, by size alone: how many bytes there are does not depend on a clock.
        now = -math.inf if limit is None else limit + self._retention.max_age
        most = self._guard.allowance(len(ended))
        gone = await self._log.trim(structs.replace(self._retention, most_aged=most), now)
        self._guard.note(len(gone))
        self._announcer.removed(len(gone))


class RemovedRuns:
    """Says what was removed for its size: a line for each user, and one of the audit log for each run.

    What goes for its age was announced (`Announcer`). The log reports each run as it is removed, also those
    that a log in memory removes by itself.
    """

    def __init__(self, report: errors.Report, audit: WriteAudit, size: int) -> None:
        self._report = report
        self._audit = audit
        self._size = size
        self._waiting: dict[str, list[TrimmedRun]] = {}
        self._task: asyncio.Task[None] | None = None

    def removed(self, run: TrimmedRun) -> None:
        """Note a run that was removed."""
        if run.cause == "size":
            self._waiting.setdefault(run.origin.user, []).append(run)
            if self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._tell_soon())

    async def _tell_soon(self) -> None:
        await asyncio.sleep(0)  # a look of the retention removes several
        waiting, self._waiting, self._task = self._waiting, {}, None
        for user, runs in waiting.items():
            freed = sum(run.bytes for run in runs)
            self._report(
                errors.Diagnostic(
                    kind="runs removed",
                    detail=f"{len(runs)} runs of {user[:60]!r}, {freed} bytes: the run log is larger than"
                    f" --retention-size ({self._size} bytes), and this user has most of it.",
                )
            )
            for run in runs:
                await self._audit(
                    AuditedAction(action="run removed", origin=run.origin, run=run.run)
                )
