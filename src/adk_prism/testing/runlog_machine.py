"""Random histories of a run log, played against a plain model: part of the contract of run logs.

Hypothesis chooses what happens: runs start, grow, change owners and end; readers come, resume after
any cursor and leave; runs are trimmed and sessions deleted; a durable log is closed and opened
again. Whatever the order, the log must answer as the model does. Needs Hypothesis.

    TestMyLog = machine_for(my_store).TestCase
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from adk_prism.errors import BadPosition, Conflict, Fenced, Gone, NotFound, PrismError
from adk_prism.log.contract import Receipt, Retention, RunLog
from adk_prism.log.entry import AgentEvent, Entry, Origin, Record, RunEnded, RunId, RunStarted, pack
from adk_prism.testing.runlog_steps import LATER, PATIENCE, Store, collect

Answer = TypeVar("Answer")

# A few names, so that histories meet: the same run started twice, trimmed and asked for, and so on.
_RUNS = st.sampled_from([RunId(f"run-{number}") for number in range(5)])
_ORIGINS = st.sampled_from([Origin(app="a", user="u", session=f"s{number}") for number in range(2)])
_CURSORS = st.integers(-1, 12)
_EVENTS = st.lists(st.binary(max_size=300).map(AgentEvent), max_size=4)
_EPOCHS = st.sampled_from([0, 0, 0, 1, 2])


@dataclass
class _ModelRun:
    """What the log should hold of a run."""

    origin: Origin
    records: list[Record]
    epoch: int
    removed: bool = False

    @property
    def ended(self) -> bool:
        return isinstance(self.records[-1], RunEnded)

    @property
    def bytes(self) -> int:
        return sum(len(pack(record)[1]) for record in self.records)


@dataclass
class _Follower:
    """A reader in a task of its own."""

    run: RunId
    after: int
    seen: list[Entry] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, log: RunLog) -> None:
        try:
            async with aclosing(log.read(self.run, self.after, follow=True)) as batches:
                async for batch in batches:
                    assert batch
                    self.seen += batch
                    self.moved.set()
        finally:
            self.moved.set()


class _RunLogMachine(RuleBasedStateMachine):
    """The rules; `machine_for` adds the store."""

    make_store: ClassVar[Callable[[], AbstractContextManager[Store]]]

    def __init__(self) -> None:
        super().__init__()
        self._resources = ExitStack()
        self._loop = self._resources.enter_context(asyncio.Runner())
        self._store = self._resources.enter_context(type(self).make_store())
        self._model: dict[RunId, _ModelRun] = {}
        self._followers: dict[asyncio.Task[None], _Follower] = {}
        self._open_log()

    def _open_log(self) -> None:
        self._log = self._store.log()
        self._run(self._log.open())
        self._is_open = True

    def teardown(self) -> None:
        with self._resources:
            if self._is_open:
                self._run(self._check_everything())
                self._run(self._close())

    def _run(self, doing: Coroutine[Any, Any, Answer]) -> Answer:
        return self._loop.run(asyncio.wait_for(doing, PATIENCE * 3))

    # ----------------------------------------------------------------------- what may happen

    @rule(run=_RUNS, origin=_ORIGINS, events=_EVENTS, epoch=_EPOCHS, ends=st.booleans())
    def start(
        self, run: RunId, origin: Origin, events: list[AgentEvent], epoch: int, ends: bool
    ) -> None:
        records = [RunStarted(run=run, origin=origin), *events, *_end(ends)]
        known = self._model.get(run)
        if known is None:
            receipt = self._run(self._log.append(run, records, epoch=epoch))
            assert receipt == Receipt(len(records))
            self._model[run] = _ModelRun(origin, records, epoch)
        else:
            fenced = not known.removed and epoch < known.epoch
            self._refused(
                Fenced if fenced else Conflict, self._log.append(run, records, epoch=epoch)
            )

    @rule(run=_RUNS, events=_EVENTS, epoch=_EPOCHS, ends=st.booleans())
    def append(self, run: RunId, events: list[AgentEvent], epoch: int, ends: bool) -> None:
        records = [*events, *_end(ends)]
        appending = self._log.append(run, records, epoch=epoch)
        known = self._model.get(run)
        refusal = _refusal(known, epoch)
        if refusal is not None:
            self._refused(refusal, appending)
            return
        assert known is not None
        known.records += records
        known.epoch = epoch if records else known.epoch
        assert self._run(appending) == Receipt(len(known.records))

    @rule(run=_RUNS, after=_CURSORS)
    def follow(self, run: RunId, after: int) -> None:
        self._run(self._follow(run, after))

    @precondition(lambda self: self._followers)
    @rule(choice=st.integers(0, 99))
    def leave(self, choice: int) -> None:
        task = list(self._followers)[choice % len(self._followers)]
        del self._followers[task]
        self._run(_cancel(task))

    @rule()
    def let_time_pass(self) -> None:
        self._run(asyncio.sleep(0))

    @rule(run=_RUNS, after=_CURSORS)
    def read(self, run: RunId, after: int) -> None:
        refusal = self._run(self._refusal_to_read(run, after))
        reading = collect(self._log, run, after)
        if refusal is not None:
            self._refused(refusal, reading)
        else:
            self._check_entries(self._model[run], after, self._run(reading), whole=True)

    @rule(share=st.floats(0, 1.2), by_age=st.booleans())
    def trim(self, share: float, by_age: bool) -> None:
        self._run(self._trim(share, by_age))

    @rule(origin=_ORIGINS)
    def delete_session(self, origin: Origin) -> None:
        going = [run for run, known in self._kept() if known.origin == origin]
        assert list(self._run(self._log.delete(origin))) == going
        for run in going:
            self._model[run].removed = True

    @precondition(lambda self: self._store.durable)
    @rule()
    def restart(self) -> None:
        self._run(self._close())
        self._open_log()

    @rule()
    def check_everything(self) -> None:
        self._run(self._check_everything())

    # ----------------------------------------------------------------------- the model's side

    def _kept(self) -> list[tuple[RunId, _ModelRun]]:
        return [(run, known) for run, known in self._model.items() if not known.removed]

    def _refused(self, kind: type[PrismError], doing: Coroutine[Any, Any, object]) -> None:
        async def refused() -> None:
            try:
                answer = await doing
            except kind:
                return
            raise AssertionError(f"expected {kind.__name__}, got the answer {answer!r}")

        self._run(refused())

    async def _refusal_to_read(self, run: RunId, after: int) -> type[PrismError] | None:
        known = self._model.get(run)
        if known is None:
            return NotFound
        if known.removed:
            return Gone
        await self._log.commit(run)
        return None if 0 <= after <= len(known.records) else BadPosition

    async def _follow(self, run: RunId, after: int) -> None:
        refusal = await self._refusal_to_read(run, after)
        follower = _Follower(run, after)
        task = asyncio.create_task(follower.read(self._log))
        if refusal is None:
            self._followers[task] = follower
            # Its first step: it has been let in before anything else happens.
            await asyncio.sleep(0)
            return
        await asyncio.wait([task])
        assert isinstance(task.exception(), refusal)

    async def _trim(self, share: float, by_age: bool) -> None:
        for run, _ in self._kept():
            await self._log.commit(run)
        ended = [(await self._log.summary(run)).ended for run, _ in self._kept()]
        oldest = sorted((time, place) for place, time in enumerate(ended) if time is not None)
        total = sum(known.bytes for _, known in self._kept())
        limit = int(total * share)
        going = []
        for _, place in oldest:
            run, known = self._kept()[place]
            if by_age or total > limit:
                going.append(run)
                total -= known.bytes
        retention = Retention(max_age=0 if by_age else LATER, max_bytes=limit)
        assert list(await self._log.trim(retention, LATER)) == going
        for run in going:
            self._model[run].removed = True

    async def _close(self) -> None:
        self._is_open = False
        await self._log.close()
        for task, follower in self._followers.items():
            await asyncio.wait([task], timeout=PATIENCE)
            assert task.done(), "a follower outlives its log"
            self._check_follower(task, follower, whole=False)
        self._followers.clear()

    async def _check_everything(self) -> None:
        for run, known in self._model.items():
            await self._check_run(run, known)
        assert [found.run for found in await self._log.list()] == [run for run, _ in self._kept()]
        unended = [run for run, known in self._kept() if not known.ended]
        assert [found.run for found in await self._log.list(unended=True)] == unended
        for task, follower in list(self._followers.items()):
            await self._catch_up(task, follower)
            self._check_follower(task, follower, whole=True)
            if task.done():
                del self._followers[task]

    async def _check_run(self, run: RunId, known: _ModelRun) -> None:
        if known.removed:
            return
        await self._log.commit(run)
        self._check_entries(known, 0, await collect(self._log, run), whole=True)
        summary = await self._log.summary(run)
        assert (summary.cursor, summary.bytes) == (len(known.records), known.bytes)
        assert (summary.outcome is not None, summary.epoch) == (known.ended, known.epoch)

    async def _catch_up(self, task: asyncio.Task[None], follower: _Follower) -> None:
        known = self._model[follower.run]
        while not task.done() and (
            known.removed or known.ended or len(follower.seen) < len(known.records) - follower.after
        ):
            follower.moved.clear()
            if not task.done():
                await asyncio.wait_for(follower.moved.wait(), PATIENCE)
            # The task sets `moved` last, and is done one step later.
            await asyncio.sleep(0)

    def _check_follower(
        self, task: asyncio.Task[None], follower: _Follower, *, whole: bool
    ) -> None:
        known = self._model[follower.run]
        error = task.exception() if task.done() else None
        assert error is None or (known.removed and isinstance(error, Gone)), error
        self._check_entries(known, follower.after, follower.seen, whole=whole and not error)

    def _check_entries(
        self, known: _ModelRun, after: int, entries: list[Entry], *, whole: bool
    ) -> None:
        expected = known.records[after:]
        if not whole:
            expected = expected[: len(entries)]
        assert [entry.cursor for entry in entries] == list(
            range(after + 1, after + 1 + len(expected))
        )
        assert [pack(entry.record) for entry in entries] == [pack(record) for record in expected]


def _end(ends: bool) -> list[Record]:
    return [RunEnded(outcome="finished")] if ends else []


def _refusal(known: _ModelRun | None, epoch: int) -> type[PrismError] | None:
    """Say how an append of anything but a start is refused, if it is."""
    if known is None:
        return NotFound
    if known.removed:
        return Gone
    if epoch < known.epoch:
        return Fenced
    return Conflict if known.ended else None


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def machine_for(
    make_store: Callable[[], AbstractContextManager[Store]],
) -> type[RuleBasedStateMachine]:
    """Return the state machine for a backend; its `TestCase` runs with unittest and pytest."""
    return type("RunLogMachine", (_RunLogMachine,), {"make_store": staticmethod(make_store)})
