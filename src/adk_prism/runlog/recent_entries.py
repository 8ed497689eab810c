"""A run that is active, with its latest committed entries: its followers read them from memory.

Bounded in bytes: a follower that is further behind reads from the store until it has caught up. Cursors are
dense, so an entry is found by counting.
"""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import Entry
from adk_prism.runlog.run_state import READ_BATCH, Packed, RunState

TAIL_BYTES = 1024 * 1024
"""Per run that is going on: thousands of deltas, minutes of a fast model, and little to hold."""

_ENTRY_BYTES = 200
"""What an entry weighs besides its payload, so that a million empty ones are bounded too."""


class RecentEntries:
    """Holds entries in order, the oldest going first."""

    __slots__ = ("_entries", "_limit", "_sizes", "_total")

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._entries: list[Entry] = []
        self._sizes: list[int] = []
        self._total = 0

    def add(self, entries: Sequence[Entry], packed: Sequence[Packed]) -> None:
        """Take what was committed next."""
        self._entries += entries
        for _, payload in packed:
            size = len(payload) + _ENTRY_BYTES
            self._sizes.append(size)
            self._total += size
        if self._total > self._limit:
            self._shorten()

    def since(self, after: int) -> Sequence[Entry] | None:
        """Return the next batch past `after`, or None if it begins before the tail."""
        if not self._entries:
            return None
        start = after + 1 - self._entries[0].cursor
        return self._entries[start : start + READ_BATCH] if start >= 0 else None

    def _shorten(self) -> None:
        # By half, so that moving the rest is paid for by as many additions. The newest stays.
        drop = 0
        while self._total > self._limit // 2 and drop < len(self._sizes) - 1:
            self._total -= self._sizes[drop]
            drop += 1
        del self._entries[:drop], self._sizes[:drop]


class BufferedRun(RunState):
    """A run of a store, with its latest entries."""

    __slots__ = ("is_left", "is_withdrawn", "new_owner", "recent")

    def __init__(self, summary: RunSummary, number: int, tail_bytes: int) -> None:
        super().__init__(summary, number)
        self.recent = RecentEntries(tail_bytes)
        self.new_owner = 0
        """Epoch of the process that took the run from this one."""
        self.is_withdrawn = False
        """Its writer was told that its start could not be stored: there is to be no such run."""
        self.is_left = False
        """This process does not write it any more: what the store has is to be read again."""
