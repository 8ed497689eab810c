"""Only the facts that ADK stored, for outputs that cannot be corrected: a pipe, a file.

Streamed facts are held until their model call is stored, together with all that follow, to keep the order;
replaced blocks are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.facts.model import (
    BlockBegan,
    BlockEnded,
    BlockGrew,
    BlocksReplaced,
    Fact,
    ModelCallEnded,
    RunOver,
)

_OF_A_BLOCK = (BlockBegan, BlockGrew, BlockEnded)


class StoredFacts:
    """Holds the facts of one run until they are final."""

    def __init__(self) -> None:
        self._held: list[Fact] = []
        self._open: dict[str, str] = {}
        """Blocks that may be replaced, and their model calls."""
        self._ended: set[str] = set()
        """Those of them that have ended."""
        self._gone: set[str] = set()

    def feed(self, facts: Sequence[Fact]) -> list[Fact]:
        """Read the facts of an entry; return what is sure by now."""
        for item in facts:
            self._held.append(item)
            self._take(item)
        if self._open:
            return []
        sure, self._held = self._held, []
        return [item for item in sure if not self._is_gone(item)]

    def _take(self, item: Fact) -> None:
        match item:
            case BlockBegan():
                self._open[item.block] = item.model_call
            case BlockEnded():
                if item.provisional or item.replaced:
                    self._ended.add(item.block)
                else:
                    self._open.pop(item.block, None)
            case BlocksReplaced():
                self._gone.update(item.blocks)
                self._settle(item.blocks)
            case ModelCallEnded():
                ended = [b for b in self._ended if self._open.get(b) == item.model_call]
                self._settle(ended)
            case RunOver():
                self._open.clear()
            case _:
                pass  # says nothing of a block

    def _settle(self, blocks: Sequence[str]) -> None:
        for block in blocks:
            self._open.pop(block, None)
            self._ended.discard(block)

    def _is_gone(self, item: Fact) -> bool:
        if isinstance(item, _OF_A_BLOCK):
            return item.block in self._gone
        return isinstance(item, BlocksReplaced)
