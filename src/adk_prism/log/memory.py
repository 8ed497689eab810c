"""A run log in memory: for tests, single runs and demonstrations. It ends with the process.

Everything is committed at once, so only a full log can fail: it trims itself to its size when a run starts,
and refuses more than `max_bytes` of runs that have not ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence

from msgspec import Struct, structs

from adk_prism.errors import LogError
from adk_prism.log import contract, run_state
from adk_prism.log.contract import MAX_TOMBSTONES, EndedRun, runs_to_trim
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId
from adk_prism.log.hooks import HookedLog

MEMORY_RETENTION = contract.Retention(max_bytes=256 * 1024**2)
"""A quarter GiB: some hundred thousand events, and no surprise for a small machine."""


class _Run(run_state.RunState):
    """A run with all its entries."""

    __slots__ = ("entries",)

    entries: list[Entry]


class MemoryLog(HookedLog):
    """Keeps runs in this process."""

    def __init__(
        self,
        retention: contract.Retention = MEMORY_RETENTION,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._retention = retention
        self._by_size = structs.replace(retention, max_age=math.inf)
        self.clock = clock
        self._open = False
        self._runs: dict[RunId, _Run] = {}
        """In the order in which they started."""
        self._tombstones: dict[RunId, None] = {}
        """In the order in which they were removed."""
        self._bytes = 0
        self.side = MemorySide(self)
        self._started = 0
        """Runs that were started so far."""

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False
        for run in self._runs.values():
            run.changed.notify()

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> contract.Receipt:
        began = time.perf_counter()
        self.check_open()
        head = self._runs.get(run) or self._start(run, records)
        head.admit(records, epoch)
        records, packed, times = self._packed(head, records, times)
        if self._bytes > self._retention.max_bytes:
            self._make_room(records)
        entries = head.take(records, packed, self.clock(), times)
        if not entries:
            return contract.Receipt(head.taken)
        # A run is there once its start has been taken; one that was refused left nothing.
        if run not in self._runs:
            self._started += 1
            head.number = self._started
            self._runs[run] = head
        self._bytes += head.taken_bytes - head.bytes
        head.entries += entries
        head.commit(entries[-1], head.taken_bytes)
        head.changed.notify()
        self._observer.written(time.perf_counter() - began)
        self._observer.stored(run, entries)
        if head.outcome is not None:
            self._observer.ended(run)
        return contract.Receipt(head.taken)

    def _start(self, run: RunId, records: Sequence[Record]) -> _Run:
        if run in self._tombstones:
            raise run_state.already_trimmed(run, records)
        head = _Run(run_state.summary_of(run_state.first_of(run, records)))
        head.entries = []
        self._trim(self._by_size, self.clock())
        return head

    def _make_room(self, records: Sequence[Record]) -> None:
        self._trim(self._by_size, self.clock())
        only_ends = len(records) == 1 and isinstance(records[0], RunEnded)
        if self._bytes > self._retention.max_bytes and not only_ends:
            raise LogError(
                f"The in-memory run log is full: {self._bytes} bytes in active runs. "
                "Use a file instead (--log sqlite:///FILE), or allow more."
            )

    async def commit(self, run: RunId) -> None:
        began = time.perf_counter()
        self.check_open()
        self.find(run)
        self._observer.committed(time.perf_counter() - began)

    async def leave(self, run: RunId) -> None:
        del run  # no other process can write

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self.check_open()
        head = self.find(run)
        head.check_position(after)
        with self._observed(run, follow=follow):
            while True:
                if head.removed:
                    raise run_state.trimmed(run)
                batch = head.entries[after : after + run_state.READ_BATCH]
                if batch:
                    yield batch
                    after = batch[-1].cursor
                elif not follow or head.outcome is not None or not self._open:
                    return
                else:
                    await head.changed.wait()

    async def summary(self, run: RunId) -> contract.RunSummary:
        self.check_open()
        return self.find(run).summary()

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[contract.RunSummary]:
        self.check_open()
        wanted = Origin(app=app, user=user, session=session)
        return [
            head.summary()
            for head in self._runs.values()
            if run_state.is_from(head.origin, wanted) and (head.outcome is None or not unended)
        ]

    def starts(self) -> Sequence[tuple[RunId, bool]]:
        """Return the runs in order of their starts, and whether each has ended: `list` without summaries."""
        self.check_open()
        return [(run, head.outcome is not None) for run, head in self._runs.items()]

    async def trim(self, retention: contract.Retention, now: float) -> Sequence[RunId]:
        self.check_open()
        return self._trim(retention, now)

    async def probe(self) -> None:
        self.check_open()

    async def delete(self, origin: Origin) -> Sequence[RunId]:
        self.check_open()
        runs = [run for run, head in self._runs.items() if head.origin == origin]
        self._remove(runs)
        self.side.drop(origin)
        return runs

    def check_open(self) -> None:
        """Raise `LogError` for a log that is not open."""
        if not self._open:
            raise run_state.not_open()

    def find(self, run: RunId) -> _Run:
        """Return a run. Raise `NotFound` or `Gone`."""
        head = self._runs.get(run)
        if head is not None:
            return head
        raise run_state.trimmed(run) if run in self._tombstones else run_state.unknown(run)

    def _trim(self, retention: contract.Retention, now: float) -> Sequence[RunId]:
        candidates = (
            EndedRun(run, head.ended, head.bytes, head.origin)
            for run, head in self._runs.items()
            if head.ended is not None
        )
        chosen = runs_to_trim(candidates, self._bytes, retention, now)
        runs = [each.run for each in chosen]
        self._remove(runs)
        for each in chosen:
            self._observer.trimmed(each)
        return runs

    def _remove(self, runs: Sequence[RunId]) -> None:
        for run in runs:
            head = self._runs.pop(run)
            self.side.drop(run)
            head.removed = True
            head.changed.notify()
            self._bytes -= head.bytes
            if self.side.has_session(head.origin) and all(
                other.origin != head.origin for other in self._runs.values()
            ):
                self.side.drop(head.origin)
            self._tombstones[run] = None
            if len(self._tombstones) > MAX_TOMBSTONES:
                del self._tombstones[next(iter(self._tombstones))]


class _Texts(Struct, eq=False):
    """The texts of one session."""

    numbers: dict[bytes, int] = {}
    """By digest."""
    stored: dict[int, bytes] = {}
    size: int = 0


class MemorySide:
    """The side store of a `MemoryLog`."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._texts: dict[Origin, _Texts] = {}
        self._last_text = 0
        self._values: dict[contract.Owner, dict[tuple[str, str], contract.SideValue]] = {}

    async def put(
        self, owner: contract.Owner, space: str, key: str, value: bytes
    ) -> contract.SideValue:
        self._log.check_open()
        clean = self._log.clean_value(contract.SideValue(space, key, self._log.clock(), value))
        if not isinstance(owner, Origin):
            self._log.find(owner)
        stored = self._values.get(owner, {})
        if (space, key) not in stored and len(stored) >= contract.OWNER_VALUES:
            raise contract.too_many()
        self._values[owner] = stored | {(space, key): clean}
        return clean

    async def delete(self, owner: contract.Owner, space: str, key: str) -> None:
        self._log.check_open()
        self._values.get(owner, {}).pop((space, key), None)

    async def list(
        self, owners: Collection[contract.Owner]
    ) -> dict[contract.Owner, Sequence[contract.SideValue]]:
        self._log.check_open()
        found = {owner: self._values.get(owner, {}).values() for owner in owners}
        return {
            owner: contract.by_space_and_key(values) for owner, values in found.items() if values
        }

    async def owners(self, space: str) -> Sequence[Origin]:
        self._log.check_open()
        return [
            owner
            for owner, values in self._values.items()
            if isinstance(owner, Origin) and any(each == space for each, _ in values)
        ]

    async def add(self, run: RunId, texts: Sequence[bytes]) -> Sequence[int]:
        self._log.check_open()
        head = self._log.find(run)
        session = self._texts.setdefault(head.origin, _Texts())
        before = session.size
        numbers = [self._add_text(session, text) for text in self._log.clean_texts(texts)]
        head.taken_bytes += session.size - before
        return numbers

    def _add_text(self, session: _Texts, text: bytes) -> int:
        name = contract.text_digest(text)
        known = session.numbers.get(name)
        if known is not None:
            return known
        stored = contract.pack_text(text)
        if session.size + len(stored) > contract.SESSION_BYTES:
            return 0
        self._last_text += 1
        session.numbers[name] = self._last_text
        session.stored[self._last_text] = stored
        session.size += len(stored)
        return self._last_text

    async def get(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        self._log.check_open()
        stored = self._texts.get(self._log.find(run).origin, _Texts()).stored
        return {
            number: contract.unpack_text(stored[number]) for number in numbers if number in stored
        }

    def has_session(self, origin: Origin) -> bool:
        """Return whether there is anything of a session."""
        return origin in self._texts or origin in self._values

    def drop(self, owner: contract.Owner) -> None:
        """Remove all of a run or a session."""
        self._values.pop(owner, None)
        if isinstance(owner, Origin):
            self._texts.pop(owner, None)
