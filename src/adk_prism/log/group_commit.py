"""Decides when appended batches are written: at once after a quiet moment, and together under load.

A batch that comes when no group was written for `SPACING` is written in the next turn of the event loop, so
nothing waits on a server that has time. Otherwise a timer writes what has come by then: a group costs a
transaction or a round trip and wakes every follower. Whoever waits for a commit ends the wait.

One group is written at a time; what comes meanwhile is the next one. A store that cannot be written now (a
locked file, a full disk, a Redis that is away) tries again by itself, so nothing is lost. After `PATIENCE`
the log counts as unavailable until the group is written: only the ends of runs are taken then.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from msgspec import Struct

from adk_prism.log.contract import EndedRun, RunSummary, SideStorage
from adk_prism.log.entry import EVENT, AgentEvent, Entry, Origin, RunEnded, RunId
from adk_prism.log.private_files import Notifier
from adk_prism.log.run_state import BufferedRun, Packed

# ---------------------------------------------------------------------------
# What a `BufferedLog` needs from the place where it keeps runs: one interface for SQLite and Redis.
#
# A store knows no reader, no cache and no rule of `append`; it stores batches that were admitted
# before. Its methods raise `LogError` if it cannot be used, and are called on the event loop.


class StoredRun(Struct, frozen=True):
    """A run as the store has it."""

    number: int
    """Its place among all runs, in the order in which they started."""
    summary: RunSummary


SMALL_BYTES, JOINED_BYTES = 16 * 1024, 64 * 1024
"""What a batch takes in at once, and when it takes no more: a few milliseconds of deltas."""


class AppendBatch(Struct, gc=False, eq=False):
    """Entries to be added to a run. There is at least one."""

    run: BufferedRun
    entries: list[Entry]
    packed: list[Packed]
    bytes: int
    """Size of the run, these entries included."""
    weight: int
    """Size of these entries."""
    epoch: int
    new_owner: bool
    """The epoch is higher than before."""
    now: float
    """When the log took the first of them."""
    id: str = ""
    """By which a store may recognise a batch whose answer was lost."""

    @property
    def is_open(self) -> bool:
        """Whether small entries that follow may be stored with these."""
        return self.weight <= JOINED_BYTES and type(self.entries[-1].record) is not RunEnded

    def add(self, event: AgentEvent, now: float) -> None:
        """Take the next event of the run."""
        run, data = self.run, event.event
        size = len(data)
        run.taken += 1
        run.taken_at = now
        run.taken_bytes += size
        self.entries.append(Entry(run.taken, now, event))
        self.packed.append((EVENT, data))
        self.bytes = run.taken_bytes
        self.weight += size

    def take(self, following: AppendBatch) -> bool:
        """Take small entries that follow in the same run: a delta is stored with the one before it.

        Return whether they were taken. A large entry stays apart, since one that the store refuses must not
        take others with it; the end stays apart for the time when it was taken.
        """
        if (
            following.epoch != self.epoch
            or following.new_owner
            or following.weight > SMALL_BYTES
            or not self.is_open
            or type(following.entries[-1].record) is RunEnded
        ):
            return False
        self.entries += following.entries
        self.packed += following.packed
        self.bytes = following.bytes
        self.weight += following.weight
        return True


class AppendResult(Struct, frozen=True):
    """What became of a batch."""

    answer: str
    """*ok*; *failed*, with a reason; one of `AGAIN`; or why the run takes nothing more from this process:
    *gone*, *fenced*, *moved*, *ended*, *unknown*."""
    detail: str = ""


OK = AppendResult("ok")
UNAVAILABLE, UNANSWERED = AGAIN = "unavailable", "unanswered"
"""Answers for a batch that could not be written now: it is not stored, or it is not known whether it is."""

Group = Sequence[AppendBatch]
"""Batches of any runs that are written together, in order."""


class FollowedRun(Protocol):
    """A run that another process writes, kept up to date while it is followed here."""

    @property
    def live(self) -> BufferedRun:
        """The run's state."""

    def check(self) -> None:
        """Raise what keeps the run from continuing."""


class LogStore(Protocol):
    """Keeps runs."""

    is_shared: bool
    """Whether other processes can write to it."""

    @property
    def side(self) -> SideStorage:
        """What is stored beside the runs."""

    async def open(self) -> Sequence[StoredRun]:
        """Connect. Return the unended runs, if no other process can write them: the log holds them."""

    def closing(self) -> None:
        """Give up sooner from now on: the log is closing."""

    async def close(self) -> None:
        """Disconnect."""

    async def register(self, summary: RunSummary) -> int:
        """Return the number of a run that is about to start."""

    def write_now(self, group: Group) -> Sequence[AppendResult] | None:
        """Store a group without waiting for anything; None if that cannot be done: then `write` it."""

    async def write(self, group: Group) -> Sequence[AppendResult]:
        """Try to store a group; return what became of each batch. One group at a time.

        A batch that could not be stored now (`AGAIN`) is given again.
        """

    async def remove(self, run: RunId, origin: Origin | None, *, only_ended: bool = False) -> bool:
        """Remove a run with its side values and remember its name.

        If it was its session's last, all that is stored of the session goes too. Return whether it was
        removed.
        Runs even if cancelled.
        """

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        """Return a run. Raise `NotFound` or `Gone`. With `patient`, wait for a store that is away."""

    async def entries(
        self, live: BufferedRun, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        """Return some committed entries past `after`. Raise `Gone` if there are none."""

    async def select(self, wanted: Origin, *, unended: bool) -> Sequence[StoredRun]:
        """Return stored runs of an origin, in which an empty string matches any; at least those that
        `open` did not return."""

    async def sizes(self) -> tuple[Sequence[EndedRun], int]:
        """Return the ended runs, and the bytes of all others that `open` did not return."""

    async def probe(self) -> None:
        """Try a write."""

    def follow(self, live: BufferedRun) -> AbstractAsyncContextManager[FollowedRun]:
        """Keep a run that another process writes up to date."""


# ---------------------------------------------------------------------------

MAX_PENDING_BYTES = 16 * 1024 * 1024
"""What may wait to be written before an append waits too. A burst of 25,000 ordinary events fits; a disk
writes it in a fraction of a second."""

PATIENCE = 60.0
"""Seconds for which one group is waited for before the log counts as unavailable, and runs fail: longer than
a backup locks the file, or a Redis is restarted or replaced."""

SPACING, DENSE_SPACING, LONGEST_SPACING = 0.004, 0.01, 0.05
"""Seconds from one group to the next: at least, where runs write quickly, and at most. None can be seen in a
growing text. Runs at a model's pace wait shortly, so that their words come evenly; a run that writes as fast
as it can is written in larger groups, which cost less."""

DENSE = 8
"""Entries of a run in one group, on average, from which on runs write quickly."""

RETRY = (0.05, 1.0)
"""Seconds between two attempts to write to a store that cannot be written: the first, and the longest."""

LAST_PATIENCE = 5.0
"""Seconds for which they are made while the log closes: a process that should end does not wait for a
failover."""

LOOP_SHARE = 4
"""Where writing in the loop is slow (a slow disk), groups are spaced so that it takes no more than a fifth of
the loop's time. Not less: a group of many runs takes long too, and would be no cheaper later."""

_BATCH_BYTES = 200
"""What a batch weighs besides its payloads."""

STOPPED = AppendResult("failed", "the writer has stopped")


@dataclass(eq=False)
class GroupCommit:
    """Collects batches and has them written."""

    store: LogStore
    settled: Callable[[Group, Sequence[AppendResult]], None]
    """Gets every group and what became of it."""
    written: Callable[[float], None]
    """Gets the seconds that writing a group took."""
    stalled: Callable[[bool], None]
    """Gets whether the log is unavailable, when that changes."""

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending: list[AppendBatch] = []
        self._last: dict[BufferedRun, AppendBatch] = {}
        """The last of those, for each run."""
        self._weight = 0
        self._writing: asyncio.Task[Sequence[AppendResult]] | None = None
        self._patience: asyncio.TimerHandle | None = None
        """Ends the wait for the group that is being written."""
        self._next: asyncio.Handle | None = None
        """Writes the next group."""
        self._written = -math.inf
        """When the last group was written."""
        self._spacing = SPACING
        self._stopping_since = math.inf
        """When the log began to close, by the monotonic clock."""
        self._changed = Notifier()
        self.is_unavailable = False
        """A group could not be written for too long, and is still being tried."""
        self.dead = False
        """Writing has failed in a way that nobody foresaw; nothing more is written."""

    @property
    def is_full(self) -> bool:
        """More is pending than should be: wait for `room` before `put`."""
        return self._weight > MAX_PENDING_BYTES

    def put(self, batch: AppendBatch) -> None:
        """Take a batch; it is written soon."""
        weight = batch.weight
        last = self._last.get(batch.run)
        if last is None or not last.take(batch):
            self._pending.append(batch)
            self._last[batch.run] = batch
            weight += _BATCH_BYTES
        self._weight += weight
        if self._next is None and self._writing is None:
            self._schedule()

    def add(self, run: BufferedRun, event: AgentEvent, now: float) -> bool:
        """Write the run's next event with those before it. Return whether there are any that it may join."""
        batch, size = self._last.get(run), len(event.event)
        if batch is None or size > SMALL_BYTES or not batch.is_open or self.is_full:
            return False
        if self.is_unavailable:
            return False
        batch.add(event, now)
        self._weight += size
        return True

    def hurry(self) -> None:
        """Write what is pending in the next turn: somebody waits for it."""
        if self._pending and self._writing is None and not self.dead:
            self._unschedule()
            self._next = self._loop.call_soon(self._write)

    def discard(self, runs: Set[BufferedRun]) -> None:
        """Forget what is pending of some runs."""
        dropped = [batch for batch in self._pending if batch.run in runs]
        if dropped:
            self._pending = [batch for batch in self._pending if batch.run not in runs]
            self._last = {batch.run: batch for batch in self._pending}
            self._weight -= _weight(dropped)

    async def room(self) -> None:
        """Wait while too much is pending, and the log is available."""
        while self.is_full and not (self.dead or self.is_unavailable):
            self.hurry()
            await self._changed.wait()

    async def stop(self) -> None:
        """Wait until everything is written, or cannot be."""
        self._stopping_since = time.monotonic()
        while (self._pending or self._writing) and not self.dead:
            self.hurry()
            await self._changed.wait()

    def _schedule(self) -> None:
        wait = self._written + self._spacing - time.perf_counter()
        if wait > 0:
            self._next = self._loop.call_later(wait, self._write)
        else:
            self._next = self._loop.call_soon(self._write)

    def _unschedule(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _write(self) -> None:
        self._next = None
        if not self._pending or self._writing is not None or self.dead:
            return
        group, self._pending, self._last = self._pending, [], {}
        began = time.perf_counter()
        try:
            results = self.store.write_now(group)
        except BaseException:
            self._die(group)
            raise
        took = time.perf_counter() - began
        is_dense = sum(len(batch.entries) for batch in group) >= DENSE * len(group)
        least = DENSE_SPACING if is_dense else SPACING
        self._spacing = min(max(LOOP_SHARE * took, least), LONGEST_SPACING)
        if results is not None:
            self.written(took)
            self._settle(group, results)
        else:
            self._writing = self._loop.create_task(self._insist(group), name="adk-prism run log")
            self._writing.add_done_callback(partial(self._finish, group, began))
            self._patience = self._loop.call_later(PATIENCE, self._give_up_waiting)

    async def _insist(self, group: Group) -> Sequence[AppendResult]:
        """Write a group; what cannot be written now is tried again, until the log closes."""
        results = [AppendResult(UNAVAILABLE)] * len(group)
        wait = RETRY[0]
        while left := [at for at, result in enumerate(results) if result.answer in AGAIN]:
            answers = await self.store.write([group[at] for at in left])
            for at, answer in zip(left, answers, strict=True):
                results[at] = answer
            if all(answer.answer not in AGAIN for answer in answers):
                break
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY[1])
            for at in left:
                if results[at].answer in AGAIN and self._gives_up(group[at].run, results[at]):
                    results[at] = AppendResult("failed", results[at].detail)
        return results

    def _gives_up(self, run: BufferedRun, result: AppendResult) -> bool:
        """Return whether a batch is not tried again: its run was left or removed, or the log closes."""
        if result.answer == UNAVAILABLE and (run.is_left or run.removed):
            return True
        return time.monotonic() - self._stopping_since > LAST_PATIENCE

    def _give_up_waiting(self) -> None:
        self.is_unavailable = True
        self.stalled(True)
        self._changed.notify()

    def _finish(
        self, group: Group, began: float, task: asyncio.Task[Sequence[AppendResult]]
    ) -> None:
        self._writing = None
        if self._patience is not None:
            self._patience.cancel()
        if self.is_unavailable:
            self.is_unavailable = False
            self.stalled(False)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._die(group)
            context = {"message": "The run log's writer has stopped.", "exception": error}
            self._loop.call_exception_handler(context)
        else:
            self.written(time.perf_counter() - began)
            self._settle(group, task.result())

    def _settle(self, group: Group, results: Sequence[AppendResult]) -> None:
        self._weight -= _weight(group)
        self._written = time.perf_counter()
        self.settled(group, results)
        if self._pending and self._next is None:
            self._schedule()
        self._changed.notify()

    def _die(self, group: Group) -> None:
        self.dead = True
        self._unschedule()
        lost = [*group, *self._pending]
        self._pending, self._last, self._weight = [], {}, 0
        self.settled(lost, [STOPPED] * len(lost))
        self._changed.notify()


def _weight(group: Group) -> int:
    return sum(batch.weight + _BATCH_BYTES for batch in group)
