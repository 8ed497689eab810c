"""Decides when appended batches are written: as soon as the event loop has time, and together under load.

A batch that comes after a quiet moment is written in the next turn of the loop. After that, a group is
written when the loop has nothing else to do, so nothing waits on a server that has time. While the loop is
busy, groups are spaced: each one costs a transaction or a round trip and wakes every follower, and a run at
full speed (4,000 deltas a second) would otherwise write 500 groups a second and need a third more CPU time.
Whoever waits for a commit ends the wait.

One group is written at a time; what comes meanwhile is the next one. A store that cannot be written now (a
locked file, a full disk, a Redis that is away) tries again by itself, so nothing is lost. After `PATIENCE`
the log counts as unavailable until the group is written: only the ends of runs are taken then.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence, Set
from functools import partial

from adk_prism.runlog.entry import AgentEvent
from adk_prism.runlog.log_store import SMALL_BYTES, AppendBatch, AppendResult, Group, LogStore
from adk_prism.runlog.notifier import Notifier
from adk_prism.runlog.recent_entries import BufferedRun

MAX_PENDING_BYTES = 16 * 1024 * 1024
"""What may wait to be written before an append waits too. A burst of 25,000 ordinary events fits; a disk
writes it in a fraction of a second."""

PATIENCE = 60.0
"""Seconds for which one group is waited for before the log counts as unavailable, and runs fail: longer than
a backup locks the file, or a Redis is restarted or replaced."""

IDLE_SPACING, BUSY_SPACING, LONGEST_SPACING = 0.003, 0.04, 0.05
"""Seconds from one group to the next. The first while the loop has time. The second while it has none: CPU
seconds of the loop's thread, so that other busy processes do not make groups smaller. The third at most. None
of them can be seen in a growing text."""

SEVERAL = 4
"""Where several runs wait to be written, groups are so many times more frequent: a group serves them all, and
each of them waits for the words of the others too."""

LOOP_SHARE = 4
"""Where writing in the loop is slow (a slow disk), groups are spaced so that it takes no more than a fifth of
the loop's time. Not less: a group of many runs takes long too, and would be no cheaper later."""

IDLE_TURN = 0.0001
"""Seconds. A turn of the event loop that took less had nothing else to do: an empty one takes a third of
this, one step of an agent twice as much or more."""

_BATCH_BYTES = 200
"""What a batch weighs besides its payloads."""

STOPPED = AppendResult("failed", "the writer has stopped")


class GroupCommit:
    """Collects batches and has them written.

    `settled` gets every group and what became of it, `written` the seconds that writing it took, `stalled`
    whether the log is unavailable, when that changes.
    """

    def __init__(
        self,
        store: LogStore,
        settled: Callable[[Group, Sequence[AppendResult]], None],
        written: Callable[[float], None],
        stalled: Callable[[bool], None],
    ) -> None:
        self._store = store
        self._settled = settled
        self._note_written = written
        self._note_stalled = stalled
        self._loop = asyncio.get_running_loop()
        self._pending: list[AppendBatch] = []
        self._last: dict[BufferedRun, AppendBatch] = {}
        """The last of those, for each run."""
        self._weight = 0
        self._writing: asyncio.Task[Sequence[AppendResult]] | None = None
        self._patience: asyncio.TimerHandle | None = None
        """Ends the wait for the group that is being written."""
        self._next_look: asyncio.Handle | None = None
        self._looked = -math.inf
        """When the loop's last turn was seen."""
        self._written = -math.inf
        """When the last group was written."""
        self._cpu = 0.0
        """CPU time of the loop's thread at that moment."""
        self._busy_from = 0.0
        """Seconds after the last group before which the thread cannot have used that much CPU time."""
        self._spacing = IDLE_SPACING
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
        if self._next_look is None and self._writing is None:
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
            self._cancel_look()
            self._next_look = self._loop.call_soon(self._write)

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
        """Wait until everything is written."""
        while (self._pending or self._writing) and not self.dead:
            self.hurry()
            await self._changed.wait()

    def _schedule(self) -> None:
        self._looked = -math.inf
        wait = self._written + self._spacing - time.perf_counter()
        if wait > 0:
            self._next_look = self._loop.call_later(wait, self._look)
        else:
            self._next_look = self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Write if the last turn of the loop was empty, or enough time has passed; else look again."""
        # The loop's own clock may stand still within a turn.
        now = time.perf_counter()
        if now - self._looked < IDLE_TURN or self._is_late(now - self._written):
            self._write()
        else:
            self._looked = now
            self._next_look = self._loop.call_soon(self._look)

    def _is_late(self, elapsed: float) -> bool:
        if elapsed < self._busy_from:
            return False
        if elapsed >= LONGEST_SPACING:
            return True
        # CPU time is dear to ask for, and grows no faster than the time that passes.
        spacing = BUSY_SPACING if len(self._last) == 1 else BUSY_SPACING / SEVERAL
        missing = spacing - (time.thread_time() - self._cpu)
        self._busy_from = elapsed + missing
        return missing <= 0

    def _cancel_look(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _write(self) -> None:
        self._next_look = None
        if not self._pending or self._writing is not None or self.dead:
            return
        group, self._pending, self._last = self._pending, [], {}
        began = time.perf_counter()
        try:
            results = self._store.write_now(group)
        except BaseException:
            self._die(group)
            raise
        took = time.perf_counter() - began
        self._spacing = min(max(LOOP_SHARE * took, IDLE_SPACING), LONGEST_SPACING)
        if results is not None:
            self._note_written(took)
            self._settle(group, results)
        else:
            self._writing = self._loop.create_task(
                self._store.write(group), name="adk-prism run log"
            )
            self._writing.add_done_callback(partial(self._finish, group, began))
            self._patience = self._loop.call_later(PATIENCE, self._give_up_waiting)

    def _give_up_waiting(self) -> None:
        self.is_unavailable = True
        self._note_stalled(True)
        self._changed.notify()

    def _finish(
        self, group: Group, began: float, task: asyncio.Task[Sequence[AppendResult]]
    ) -> None:
        self._writing = None
        if self._patience is not None:
            self._patience.cancel()
        if self.is_unavailable:
            self.is_unavailable = False
            self._note_stalled(False)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._die(group)
            told = {"message": "The run log's writer has stopped.", "exception": error}
            self._loop.call_exception_handler(told)
        else:
            self._note_written(time.perf_counter() - began)
            self._settle(group, task.result())

    def _settle(self, group: Group, results: Sequence[AppendResult]) -> None:
        self._weight -= _weight(group)
        self._written, self._cpu = time.perf_counter(), time.thread_time()
        self._busy_from = BUSY_SPACING / SEVERAL
        self._settled(group, results)
        if self._pending and self._next_look is None:
            self._schedule()
        self._changed.notify()

    def _die(self, group: Group) -> None:
        self.dead = True
        self._cancel_look()
        lost = [*group, *self._pending]
        self._pending, self._last, self._weight = [], {}, 0
        self._settled(lost, [STOPPED] * len(lost))
        self._changed.notify()


def _weight(group: Group) -> int:
    return sum(batch.weight + _BATCH_BYTES for batch in group)
