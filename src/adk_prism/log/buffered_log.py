"""A run log with a store behind it: entries are taken at once, written in groups, and read from memory.

`append` gives records their places and returns; what was appended is written together (`group_commit.py`).
Once the store has it, followers get it from memory. Only a reader that is further behind than memory reaches
reads the store. A reader is never given what is not committed.

In memory are the runs that this process writes, until they end. Where no other process can write, those are
all runs without an end. A run that another process writes is followed through the store.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack
from typing import Literal

from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.log import contract, group_commit, run_state
from adk_prism.log.contract import runs_to_trim
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId
from adk_prism.log.hooks import HookedLog

_LOST = {
    "gone": "it was removed",
    "fenced": "another process has taken it over",
    "moved": "another process wrote to it",
    "ended": "another process has ended it",
    "unknown": "it was never started",
}
"""Why a run takes nothing more from this process."""


class BufferedLog(HookedLog):
    """Keeps runs in a store."""

    tail_bytes = run_state.TAIL_BYTES

    def __init__(self, store: group_commit.LogStore) -> None:
        self.store = store
        self.clock = time.time
        self._status: Literal["closed", "open", "closing"] = "closed"
        self._commits: group_commit.GroupCommit | None = None
        """None while the log is closed."""
        self.side = BufferedSide(self)
        self._active: dict[RunId, run_state.BufferedRun] = {}
        """Runs that this process writes."""

    # ----------------------------------------------------------------------- opening and closing

    async def open(self) -> None:
        if self._status != "closed":
            raise LogError("The run log is open already.")
        found = await self.store.open()
        self._active = {each.summary.run: self._new_run(each) for each in found}
        self._commits = group_commit.GroupCommit(
            self.store, self._settle, lambda took: self._observer.written(took), self._stall
        )
        self._status = "open"

    async def close(self) -> None:
        if self._status != "open" or self._commits is None:
            return
        self._status = "closing"
        waiting = [live for live in self._active.values() if live.taken > live.committed]
        self.store.closing()
        await self._commits.stop()
        self._status, self._commits = "closed", None
        self._wake_all()
        await self.store.close()
        self._active = {}
        for live in waiting:
            if live.failure:
                raise run_state.failed(live.run, live.failure)

    def _wake_all(self) -> None:
        for run in self._active.values():
            run.changed.notify()

    def usable(self) -> group_commit.GroupCommit:
        """Return what writes batches. Raise `LogError` for a log that takes no appends and questions."""
        if self._status != "open" or self._commits is None:
            raise run_state.not_open()
        if self._commits.dead:
            raise LogError("The run log's writer has stopped. Restart the process.")
        return self._commits

    # ----------------------------------------------------------------------- writing

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> contract.Receipt:
        commits = self.usable()
        live = self._active.get(run)
        if live is not None and times is None and self._join(live, records, epoch):
            return contract.Receipt(live.taken)  # nearly always
        is_end = len(records) == 1 and isinstance(records[0], RunEnded)
        if commits.is_full and not is_end:
            await commits.room()
            self.usable()
            live = self._active.get(run)
        if commits.is_unavailable and not is_end:
            raise run_state.unavailable()
        if live is None or epoch > live.epoch:
            live = await self._take(run, records)
            self.usable()
        records, packed, times = self._packed(live, records, times)
        owner, before = live.epoch, live.taken_bytes
        self._admit(live, records, epoch)
        now = self.clock()
        entries = live.take(records, packed, now, times)
        if entries:
            self._active[run] = live
            size = live.taken_bytes
            commits.put(
                group_commit.AppendBatch(
                    live, entries, packed, size, size - before, epoch, epoch > owner, now
                )
            )
        return contract.Receipt(live.taken)

    def _join(self, live: run_state.BufferedRun, records: Sequence[Record], epoch: int) -> bool:
        """Write one event with those before it. Return whether that can be."""
        event = self._clean_event(live, records) if live.takes(epoch) else None
        if event is None or self._commits is None:
            return False
        return self._commits.add(live, event, self.clock())

    async def _take(self, run: RunId, records: Sequence[Record]) -> run_state.BufferedRun:
        """Return a run that this process has not written yet, or not with this epoch."""
        live = self._active.get(run)
        if live is not None:
            if not self.store.is_shared:
                return live
            # Another writer of this process is no longer the owner: what the store has counts.
            await self._flush(live)
            self._hand_over(live)
        try:
            return await self.find(run)
        except NotFound:
            summary = run_state.summary_of(run_state.first_of(run, records))
        except Gone as error:
            raise run_state.already_trimmed(run, records) from error
        number = await self.store.register(summary)
        # Another append may have started the run meanwhile.
        return self._active.get(run) or self._new_run(group_commit.StoredRun(number, summary))

    def _admit(self, live: run_state.BufferedRun, records: Sequence[Record], epoch: int) -> None:
        try:
            live.admit(records, epoch)
        except LogError:
            # Every append to a run whose start could not be stored is told so; the last one forgets it.
            if live.failure and not live.committed and isinstance(records[-1], RunEnded):
                self._active.pop(live.run, None)
            raise

    def _new_run(self, found: group_commit.StoredRun) -> run_state.BufferedRun:
        return run_state.BufferedRun(found.summary, found.number, self.tail_bytes)

    async def _flush(self, live: run_state.BufferedRun) -> None:
        """Wait until it is known what became of all that a run has taken."""
        while live.taken > live.committed and not (live.failure or live.is_left or live.removed):
            self.usable().hurry()
            await live.changed.wait()

    def _hand_over(self, live: run_state.BufferedRun) -> None:
        """Forget a run that is written elsewhere now; its followers continue with what the store has."""
        if self._active.get(live.run) is live:
            del self._active[live.run]
        live.is_left = True
        live.changed.notify()

    def _settle(
        self, group: group_commit.Group, results: Sequence[group_commit.AppendResult]
    ) -> None:
        """Show what was committed, note what failed, and wake whoever waits."""
        touched: dict[run_state.BufferedRun, None] = {}
        for batch, result in zip(group, results, strict=True):
            live = batch.run
            touched[live] = None
            if result.answer == "ok":
                is_first = not live.committed
                live.commit(batch.entries[-1], batch.bytes)
                live.recent.add(batch.entries, batch.packed)
                self._observer.stored(live.run, batch.entries)
                if is_first and live.is_withdrawn and not live.removed:
                    self._end_withdrawn(live, batch.epoch)
            elif not live.failure:
                self._lose(live, result)
        for live in touched:
            if live.outcome is not None and self._active.get(live.run) is live:
                del self._active[live.run]
                self._observer.ended(live.run)
            live.changed.notify()
        if self._commits is not None and self._commits.dead:
            self._wake_all()

    def _end_withdrawn(self, live: run_state.BufferedRun, epoch: int) -> None:
        """End a run whose start was stored after its writer had been told that it was not."""
        assert self._commits is not None, "who writes groups is open"
        self._active[live.run] = live
        live.is_left, live.taken, live.taken_bytes = False, live.committed, live.bytes
        ended = RunEnded(outcome="failed", code=run_state.LOG_UNAVAILABLE)
        records, packed, _ = self._packed(live, [ended], None)
        now = self.clock()
        entries = live.take(records, packed, now)
        size, weight = live.taken_bytes, live.taken_bytes - live.bytes
        self._commits.put(
            group_commit.AppendBatch(live, entries, packed, size, weight, epoch, False, now)
        )

    def _stall(self, is_stalled: bool) -> None:
        """Tell everybody that the log is unavailable, or available again."""
        self._observer.stalled(is_stalled)
        if is_stalled:
            self._wake_all()

    def _lose(self, live: run_state.BufferedRun, result: group_commit.AppendResult) -> None:
        """Note that a run could not take what it was given."""
        if self._commits is not None:
            self._commits.discard({live})
        live.fail(_LOST.get(result.answer, result.detail))
        if result.answer == "gone":
            live.removed = True
        elif result.answer == "fenced":
            live.new_owner = int(result.detail)
        if result.answer != "failed":
            self._hand_over(live)

    async def commit(self, run: RunId) -> None:
        began = time.perf_counter()
        commits = self.usable()
        live = await self.find(run)
        wanted = live.taken
        while True:
            self._check_alive(live)
            if live.committed >= wanted:
                break
            if commits.is_unavailable:
                live.is_withdrawn = not live.committed
                raise run_state.unavailable()
            commits.hurry()
            await live.changed.wait()
        self._observer.committed(time.perf_counter() - began)

    async def leave(self, run: RunId) -> None:
        live = self._active.get(run)
        if live is None or self._commits is None:
            return
        # A run whose start could not be stored never was; its id may be tried again.
        if self.store.is_shared or not live.committed:
            self._commits.discard({live})
            self._hand_over(live)

    def _check_alive(self, live: run_state.BufferedRun) -> None:
        """Raise what keeps a run from continuing."""
        if live.removed:
            raise run_state.trimmed(live.run)
        if live.new_owner:
            raise run_state.fenced(live.run, live.new_owner, live.epoch)
        if live.failure:
            raise run_state.failed(live.run, live.failure)
        if self._status == "open":
            self.usable()

    def _check_available(self) -> None:
        """Raise `LogUnavailable` while nothing can be written."""
        if self._commits is not None and self._commits.is_unavailable:
            raise run_state.unavailable()

    # ----------------------------------------------------------------------- reading

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self.usable()
        live = self._active.get(run) or await self._find(run, patient=follow)
        live.check_position(after)
        last = live.committed
        async with AsyncExitStack() as stack:
            stack.enter_context(self._observed(run, follow=follow))
            remote = None
            while True:
                if follow:
                    last = live.committed
                if after < last:
                    batch = live.recent.since(after) or await self._fetch(live, after, last, follow)
                    if not batch:
                        return
                    yield batch
                    after = batch[-1].cursor
                elif not follow or live.outcome is not None or self._status == "closed":
                    return
                elif live.is_left and self._status == "open":
                    # Another process continues the run, or this one does, with a new epoch.
                    live = self._active.get(run) or await self._find(run, patient=True)
                elif remote is not None:
                    remote.check()
                    await live.changed.wait()
                elif self._active.get(run) is live:
                    self._check_alive(live)
                    self._check_available()
                    await live.changed.wait()
                elif self._status != "open":
                    return
                else:
                    self._check_alive(live)
                    remote = await stack.enter_async_context(self.store.follow(live))
                    live = remote.live

    async def _fetch(
        self, live: run_state.BufferedRun, after: int, last: int, follow: bool
    ) -> Sequence[Entry]:
        """Return a batch from the store; none if a follower's log was closed meanwhile."""
        if self._status != "closed":
            try:
                return await self.store.entries(live, after, last, patient=follow)
            except LogError:
                if self._status == "open":
                    raise
        if not follow:
            raise run_state.not_open()
        return ()

    async def find(self, run: RunId) -> run_state.BufferedRun:
        """Return a run as this process writes it, or as the store has it. Raise `NotFound` or `Gone`."""
        return self._active.get(run) or await self._find(run)

    async def _find(self, run: RunId, *, patient: bool = False) -> run_state.BufferedRun:
        """Return a run that this process does not write. Raise `NotFound` or `Gone`."""
        self.usable()
        found = await self.store.find(run, patient=patient)
        live = self._active.get(run)
        if live is not None:
            return live
        if found.summary.outcome is None and not self.store.is_shared:
            raise run_state.trimmed(run)  # It would be in memory, were it not being deleted.
        return self._new_run(found)

    async def summary(self, run: RunId) -> contract.RunSummary:
        self.usable()
        live = await self.find(run)
        if not live.committed:
            self._check_alive(live)
        return live.summary()

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[contract.RunSummary]:
        wanted = Origin(app=app, user=user, session=session)
        return [live.summary() for live in await self._select(wanted, unended=unended)]

    async def _select(
        self, wanted: Origin, *, unended: bool = False
    ) -> Sequence[run_state.BufferedRun]:
        """Return the runs of an origin, in which an empty string matches any, in order of their start."""
        self.usable()
        # Memory first: a run that ends while the store is read is then in one of them at least.
        runs = {
            live.run: live
            for live in self._active.values()
            if run_state.is_from(live.origin, wanted)
        }
        for found in await self.store.select(wanted, unended=unended):
            runs.setdefault(found.summary.run, self._new_run(found))
        kept = (
            live
            for live in runs.values()
            if not live.removed
            and (live.committed or not live.failure)
            and (live.outcome is None or not unended)
        )
        return sorted(kept, key=lambda live: live.number)

    # ----------------------------------------------------------------------- removing

    async def trim(self, retention: contract.Retention, now: float) -> Sequence[RunId]:
        self.usable()
        ended, others = await self.store.sizes()
        if not self.store.is_shared:
            others = sum(live.bytes for live in self._active.values())
        total = others + sum(each.bytes for each in ended)
        removed = []
        # One by one: appends get their turn between the removals of long runs.
        for each in runs_to_trim(ended, total, retention, now):
            if await self.store.remove(each.run, each.origin, only_ended=True):
                removed.append(each.run)
                self._observer.trimmed(each)
        return removed

    async def probe(self) -> None:
        self.usable()
        await self.store.probe()

    async def delete(self, origin: Origin) -> Sequence[RunId]:
        commits = self.usable()
        # An empty string in an origin is a name here, and no wildcard.
        runs = [live.run for live in await self._select(origin) if live.origin == origin]
        for run in runs:
            live = self._active.pop(run, None)
            if live is not None:
                commits.discard({live})
                live.removed = True
                live.changed.notify()
        for run in runs:
            await self.store.remove(run, origin)
        await self.store.side.delete_values(origin)
        return runs


class BufferedSide:
    """The side store of a `BufferedLog`: cleans what is stored, and waits for the run that it belongs to."""

    def __init__(self, log: BufferedLog) -> None:
        self._log = log

    @property
    def _storage(self) -> contract.SideStorage:
        return self._log.store.side

    async def put(
        self, owner: contract.Owner, space: str, key: str, value: bytes
    ) -> contract.SideValue:
        clean = self._log.clean_value(contract.SideValue(space, key, self._log.clock(), value))
        if isinstance(owner, Origin):
            self._log.usable()
        else:
            # The store refuses values of a run that it does not have.
            await self._log.commit(owner)
        await self._storage.put_value(owner, clean)
        return clean

    async def delete(self, owner: contract.Owner, space: str, key: str) -> None:
        self._log.usable()
        await self._storage.delete_values(owner, (space, key))

    async def list(
        self, owners: Collection[contract.Owner]
    ) -> dict[contract.Owner, Sequence[contract.SideValue]]:
        self._log.usable()
        return await self._storage.list_values(owners)

    async def owners(self, space: str) -> Sequence[Origin]:
        self._log.usable()
        return await self._storage.list_owners(space)

    async def add(self, run: RunId, texts: Sequence[bytes]) -> Sequence[int]:
        await self._log.commit(run)  # The store refuses texts of a run that it does not have.
        live = await self._log.find(run)
        clean = self._log.clean_texts(texts)
        by_digest = {contract.text_digest(text): text for text in clean}
        known = await self._storage.find_texts(live.origin, list(by_digest))
        new = {
            name: contract.pack_text(text) for name, text in by_digest.items() if name not in known
        }
        if new:
            known |= await self._storage.add_texts(run, live.origin, new)
            live.taken_bytes += sum(len(new[name]) for name in new if known.get(name))
        return [known.get(contract.text_digest(text), 0) for text in clean]

    async def get(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        live = await self._log.find(run)
        found = await self._storage.get_texts(live.origin, list(numbers))
        return {number: contract.unpack_text(stored) for number, stored in found.items()}
