"""Leases that several "processes" of one test share, in memory: what Redis does for real ones.

`tests/log/test_leases.py` tests the real ones. Here nothing lapses: a test says when a process dies.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from adk_prism.errors import Conflict
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.coordination import Hear, Lease, Word
from adk_prism.log.entry import RunId


@dataclass
class Table:
    """What all processes see: who has what."""

    holders: dict[str, SharedLeases] = field(default_factory=dict)
    hearing: dict[Word, list[Hear]] = field(default_factory=lambda: defaultdict(list))


class SharedLeases:
    """The leases of one process."""

    is_shared = True

    def __init__(self, table: Table) -> None:
        self._table = table

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        self.die()

    def die(self) -> None:
        """Lose everything, as when the leases of a dead process lapse."""
        holders = self._table.holders
        for name in [name for name, who in holders.items() if who is self]:
            del holders[name]

    async def has_others(self) -> bool:
        return True

    async def begin(self, run: RunId) -> Lease:
        if run in self._table.holders:
            raise Conflict(f"Run {run!r} has an owner.")
        return self._take(Lease(run, is_of_a_run=True))

    async def claim(self, summary: RunSummary) -> Lease | None:
        if summary.run in self._table.holders or summary.outcome is not None:
            return None
        return self._take(Lease(summary.run, epoch=summary.epoch + 1, is_of_a_run=True))

    async def hold(self, name: str) -> Lease | None:
        return None if name in self._table.holders else self._take(Lease(name))

    async def is_held(self, name: str) -> bool:
        return name in self._table.holders

    async def release(self, lease: Lease) -> None:
        if self._table.holders.get(lease.name) is self:
            del self._table.holders[lease.name]

    async def freed(self, name: str, seconds: float) -> None:
        del name, seconds
        await asyncio.sleep(0)

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        unended = await log.list(unended=True)
        return [each.run for each in unended if each.run not in self._table.holders]

    def listen(self, word: Word, hear: Hear) -> None:
        self._table.hearing[word].append(hear)

    async def say(self, word: Word, name: str) -> None:
        for hear in self._table.hearing[word]:
            hear(name)

    def _take(self, lease: Lease) -> Lease:
        self._table.holders[lease.name] = self
        return lease
