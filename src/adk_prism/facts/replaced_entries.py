"""Which entries of a run streamed what ADK did not store.

A fold over facts. A copy of a run without withheld text leaves these entries out.
"""

from __future__ import annotations

from collections.abc import Iterable

from adk_prism.facts.model import (
    BlockEnded,
    BlockGrew,
    BlocksReplaced,
    CallAbandoned,
    CallInputGrew,
    CallRequested,
    Fact,
    Nested,
)


class ReplacedEntries:
    """The entries of one run that do not count."""

    def __init__(self) -> None:
        self.cursors: set[int] = set()
        self._streamed: dict[str, list[int]] = {}
        """Cursors of the entries that streamed a block or a call, as long as it may be replaced."""

    def feed(self, cursor: int, facts: Iterable[Fact]) -> None:
        """Read the facts of an entry."""
        for item in facts:
            if isinstance(item, Nested):
                self._take(cursor, item.fact, f"{item.node} {item.call} ")
            else:
                self._take(cursor, item, "")

    def _take(self, cursor: int, item: Fact, within: str) -> None:
        match item:
            case BlockGrew(block=name) | CallInputGrew(call=name):
                self._streamed.setdefault(within + name, []).append(cursor)
            case (
                BlockEnded(provisional=False, replaced=False, block=name) | CallRequested(call=name)
            ):
                self._streamed.pop(within + name, None)
            case BlocksReplaced():
                for block in item.blocks:
                    self.cursors.update(self._streamed.pop(within + block, ()))
            case CallAbandoned(withdrawn=True):
                # The entry itself may send again what was streamed of the call.
                self.cursors.update((cursor, *self._streamed.pop(within + item.call, ())))
            case _:
                pass  # nothing that can be replaced
