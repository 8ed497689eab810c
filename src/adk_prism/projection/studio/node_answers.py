"""What each node answers: the text of its last model call, or of those that ran last inside it.

Only valid text: a replaced block is dropped. The answer of an agent that was called is
the call's result, and not an answer of its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from adk_prism.facts.model import Speaker


class Answer:
    """What one node, or the run, answers."""

    __slots__ = ("_blocks", "_heard", "_is_next", "_model_call", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        """Its node has ended."""
        self._model_call = ""
        self._blocks: dict[str, list[str]] = {}
        """Of the last model call that said something."""
        self._heard: list[str] = []
        """Of the last nodes inside that said something, where that was later."""
        self._is_next = False
        """A node inside started since the last answer: its answer replaces the others."""

    def begin(self, block: str, model_call: str) -> None:
        """Note a block of its own text."""
        if model_call != self._model_call:
            self._blocks.clear()
        self._model_call = model_call
        self._heard.clear()
        self._blocks[block] = []

    def grow(self, block: str, text: str) -> None:
        """Take a piece of a block; one that does not count any more is passed over."""
        if block in self._blocks:
            self._blocks[block].append(text)

    def trim(self, block: str, count: int) -> None:
        """Take characters off the end of a block."""
        if block in self._blocks:
            self._blocks[block] = ["".join(self._blocks[block])[:-count]]

    def said(self, block: str) -> str:
        """Return what a block of its own said."""
        return "".join(self._blocks.get(block, ()))

    def drop(self, block: str) -> None:
        """Forget a block that was replaced."""
        self._blocks.pop(block, None)

    def expect(self) -> None:
        """Note that a node inside begins."""
        self._is_next = True

    def hear(self, text: str) -> None:
        """Take what a node inside answered; of several that ran side by side, each."""
        if not text:
            return
        if self._is_next:
            self._heard.clear()
        self._is_next = False
        self._heard.append(text)

    @property
    def text(self) -> str:
        """What it answers, as far as it is known."""
        return "\n\n".join(self._heard or filter(None, map("".join, self._blocks.values())))


class _Block(Struct, frozen=True, gc=False):
    """A block of text, and whose it is."""

    answer: Answer
    speaker: Speaker
    tool: str
    model_call: str


class Answers:
    """Which block is whose."""

    def __init__(self, find: Callable[[Speaker, str], Answer]) -> None:
        """`find` returns the answer of a speaker, as nodes run now."""
        self._find = find
        self._blocks: dict[str, _Block] = {}

    def begin(self, block: str, speaker: Speaker, tool: str, model_call: str) -> None:
        """Note a block of text; `tool` is the node of the tool inside which it is said."""
        answer = self._find(speaker, tool)
        self._blocks[block] = _Block(answer, speaker, tool, model_call)
        answer.begin(block, model_call)

    def grow(self, block: str, text: str) -> None:
        """Take a piece of a block. One that continues after its node ended is the next attempt's."""
        found = self._blocks.get(block)
        if found is not None and found.answer.is_over:
            said = found.answer.said(block)
            self.begin(block, found.speaker, found.tool, found.model_call)
            found = self._blocks[block]
            found.answer.grow(block, said)
        if found is not None:
            found.answer.grow(block, text)

    def end(self, block: str, trimmed: int) -> None:
        """Note a block's end, and how much white space there ADK did not store."""
        if trimmed and block in self._blocks:
            self._blocks[block].answer.trim(block, trimmed)

    def drop(self, blocks: Iterable[str]) -> None:
        """Forget blocks that were replaced."""
        for block in blocks:
            if found := self._blocks.pop(block, None):
                found.answer.drop(block)
