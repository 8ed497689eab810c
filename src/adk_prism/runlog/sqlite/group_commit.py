"""The event loop's side of the writer: gathers changes into groups, and tells what became of them.

A lone change does not wait. Whatever comes in the pause after a group, or while the writer's thread is
busy, becomes the next group, so groups grow with the load. All of this class runs in the
event loop: it needs no lock, and the two threads meet only where a group changes hands.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Set

from adk_prism.runlog.notifier import Notifier
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.sqlite.file import DatabaseFile
from adk_prism.runlog.sqlite.writer import AppendBatch, AppendResults, Change, Group, SqliteWriter

MAX_PENDING_BYTES = 16 * 1024 * 1024
"""What may wait to be written before an append waits too. A burst of 25 000 ordinary events fits; a
disk writes it in a fraction of a second."""

SHARE = 20
"""Groups are spaced so that writing them takes no more than a twentieth of the event loop's time, unless
somebody waits for a commit. Each costs a transaction and wakes every follower: a run at full speed,
4,000 deltas a second, would otherwise take 500 groups a second and a third more CPU time."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.05
"""Seconds: fifty pictures of a growing text a second, and twenty where the disk is slow. Neither can be
seen, and what comes more slowly does not wait at all."""

_CHANGE_BYTES = 200
"""What a change weighs besides its payloads."""


class GroupCommit:
    """Owns the writer. `settled` is told, in the loop, what became of each group."""

    def __init__(
        self,
        file: DatabaseFile,
        connection: sqlite3.Connection,
        settled: Callable[[Group, AppendResults], None],
        stopped: Callable[[], None],
    ) -> None:
        """`stopped` is called when the writer's thread is over, asked for or not."""
        self._loop = asyncio.get_running_loop()
        self._settled = settled
        self._stopped = stopped
        self._pending: list[Change] = []
        self._weight = 0
        self._in_flight: Group = ()
        """The group the writer has; empty: it is idle."""
        self._scheduled = False
        self._pause: asyncio.TimerHandle | None = None
        """Runs between two groups."""
        self._took = 0.0
        """Seconds of the event loop that the last group took."""
        self._changed = Notifier()
        self.dead = False
        """The writer's thread is over."""
        self._writer = SqliteWriter(file, connection, self._answer, self._gone)
        self._writer.start()

    @property
    def is_full(self) -> bool:
        """More is waiting than should be: wait for `room` before putting."""
        return self._weight > MAX_PENDING_BYTES

    def put(self, change: Change) -> None:
        """Take a change; it is handed over at the end of this turn of the loop, or after."""
        self._pending.append(change)
        self._weight += _weight(change)
        if not self._scheduled and not self._in_flight and self._pause is None:
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    def hurry(self) -> None:
        """Cut a pause short: somebody waits for what is pending."""
        if self._pause is not None:
            self._end_pause()
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    def discard(self, runs: Set[BufferedRun]) -> None:
        """Forget what is waiting of runs that have failed."""
        kept: list[Change] = []
        for change in self._pending:
            if isinstance(change, AppendBatch) and change.run in runs:
                self._weight -= _weight(change)
            else:
                kept.append(change)
        self._pending = kept

    async def room(self) -> None:
        """Wait while too much is waiting, and the writer lives."""
        while self.is_full and not self.dead:
            self.hurry()
            await self._changed.wait()

    async def stop(self) -> None:
        """Wait until everything is answered, then until the thread is over."""
        while (self._pending or self._in_flight) and not self.dead:
            self.hurry()
            await self._changed.wait()
        self._writer.stop()
        while not self.dead:
            await self._changed.wait()

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._in_flight or not self._pending or self.dead:
            return
        group, self._pending = self._pending, []
        self._in_flight = group
        done = False
        began = time.perf_counter()  # The loop's own clock may stand still within a turn.
        try:
            done = self._writer.attempt(group)
            self._took = time.perf_counter() - began
        finally:
            # Also after something unforeseen: it ends the thread as well, which tells everybody.
            if not done:
                self._writer.put(group)
        if done:
            self._settle(group, [""] * len(group))

    def _settle(self, group: Group, results: AppendResults) -> None:
        self._in_flight = ()
        for change in group:
            self._weight -= _weight(change)
        self._settled(group, results)
        pause = min(max(SHARE * self._took, SHORTEST_PAUSE), LONGEST_PAUSE)
        self._pause = self._loop.call_later(pause, self._go_on)
        self._changed.notify()

    def _go_on(self) -> None:
        self._pause = None
        self._hand_over()

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _die(self) -> None:
        self.dead = True
        self._end_pause()
        lost = [*self._in_flight, *self._pending]
        self._in_flight, self._pending = (), []
        self._settled(lost, ["the writer has stopped"] * len(lost))
        self._stopped()
        self._changed.notify()

    # ----------------------------------------------------------------------- in the writer's thread

    def _answer(self, group: Group, results: AppendResults) -> None:
        self._tell(self._settle, group, results)

    def _gone(self) -> None:
        self._tell(self._die)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        # A loop that closed before the log did has nobody left to tell.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, *arguments)


def _weight(change: Change) -> int:
    return _CHANGE_BYTES + (change.weight if isinstance(change, AppendBatch) else 0)
