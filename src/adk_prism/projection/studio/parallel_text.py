"""One voice at a time: the text of agents that speak at once, each block in one piece.

A `chunk` does not say who speaks, so the words of parallel agents would run into each other. While one
block of text is open, the words of others are kept; when it ends, the next one that began is said, as
far as it is there. A run without parallel speakers is not delayed.
"""

from __future__ import annotations

from collections.abc import Iterable


class _Waiting:
    """A block whose turn has not come."""

    __slots__ = ("ended", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ended = False


class Voices:
    """The blocks of text of one run."""

    def __init__(self) -> None:
        self._speaking = ""
        self._waiting: dict[str, _Waiting] = {}
        """In the order in which they began."""
        self._said: dict[str, list[str]] = {}
        """What has been said, by block."""

    def say(self, block: str, text: str) -> str:
        """Take a piece; return what can be said now."""
        if not self._speaking:
            self._speaking = block
        if self._speaking == block:
            self._said.setdefault(block, []).append(text)
            return text
        self._waiting.setdefault(block, _Waiting()).pieces.append(text)
        return ""

    def end(self, block: str) -> list[str]:
        """Note a block's end; return what others had to say, one text for each."""
        if block in self._waiting:
            self._waiting[block].ended = True
        if self._speaking != block:
            return []
        self._speaking = ""
        said = []
        while self._waiting and not self._speaking:
            name = next(iter(self._waiting))
            waiting = self._waiting.pop(name)
            said.append("".join(waiting.pieces))
            self._said[name] = said[-1:]
            if not waiting.ended:
                self._speaking = name
        return said

    def drop(self, blocks: Iterable[str]) -> bool:
        """Forget blocks that were replaced; return whether anything of them had been said."""
        said = False
        for block in blocks:
            self._waiting.pop(block, None)
            said = bool(self._said.pop(block, None)) or said
        return said

    @property
    def text(self) -> str:
        """The valid text so far."""
        return "\n\n".join(map("".join, self._said.values()))
