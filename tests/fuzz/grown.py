"""JSON grown from bytes: each byte is a choice, so that a fuzzer that turns a byte turns a value.

Plain bytes are rarely JSON, and JSON is rarely a request. Here keys come from a list of words that the
decoder knows, next to some that nobody expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DEEPEST = 12
WIDEST = 6

_LEAVES: Sequence[Any] = (
    None, True, False, 0, 1, -1, 2**53, 2**63, -(2**63), 2**64, 10**400, 0.5, 1e308, -0.0,
    "", "a", "\0", "\u2028", "\ud800", "\u202e", "__proto__", "..", "a" * 300, [], {},
)  # fmt: skip


class _Choices:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def below(self, count: int) -> int:
        """Return the next choice; 0 when the bytes are used up."""
        if self._at >= len(self._data):
            return 0
        self._at += 1
        return self._data[self._at - 1] % count

    def text(self) -> str:
        """Return some of the bytes as they are."""
        length = self.below(24)
        self._at += length
        return self._data[self._at - length : self._at].decode(errors="replace")


def grown(data: bytes, words: Sequence[str]) -> dict[str, Any]:
    """Return an object that these bytes choose."""
    return _object(_Choices(data), words, DEEPEST)


def _object(choices: _Choices, words: Sequence[str], room: int) -> dict[str, Any]:
    return {
        _key(choices, words): _value(choices, words, room - 1)
        for _ in range(choices.below(WIDEST + 1))
    }


def _key(choices: _Choices, words: Sequence[str]) -> str:
    return words[choices.below(len(words))] if choices.below(12) else choices.text()


def _value(choices: _Choices, words: Sequence[str], room: int) -> Any:
    kind = choices.below(8)
    if kind < 2 and room:
        return _object(choices, words, room)
    if kind < 4 and room:
        return [_value(choices, words, room - 1) for _ in range(choices.below(4))]
    if kind < 6:
        return words[choices.below(len(words))]
    if kind == 6:
        return _LEAVES[choices.below(len(_LEAVES))]
    return choices.text()
