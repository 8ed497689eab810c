"""Streamed call arguments: from `partialArgs` (path and value) to a growing JSON text.

Gemini names each piece by its JSON path (`$.city`, `$.stops[0].name`) and may split strings. The text
grown from the pieces is a prefix of a JSON object that holds them, so a client that reads partial JSON
can show it. Empty containers cannot be said in this form; the confirmed call has the whole input.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_TOKEN = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]")

Token = str | int
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


def parse_path(path: str) -> tuple[Token, ...]:
    """Split a JSON path into member names and indexes."""
    return tuple(
        int(match[2]) if match[2] is not None else (match[1] or match[3] or "")
        for match in _TOKEN.finditer(path.removeprefix("$"))
    )


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _closer(member: Token) -> str:
    """Return what closes the container of such a member."""
    return "]" if isinstance(member, int) else "}"


class _Container:
    """An object or array that is being written."""

    __slots__ = ("at", "closer", "members")

    def __init__(self, at: Token, closer: str) -> None:
        self.at = at
        self.closer = closer
        self.members = 0


class ArgumentWriter:
    """Writes one call's arguments as they arrive."""

    def __init__(self) -> None:
        self._open: list[_Container] = []
        self._string: tuple[Token, ...] | None = None

    def write(self, pieces: list[dict[str, Any]]) -> str:
        """Return the JSON text that these pieces add."""
        return "".join(text for piece in pieces for text in self._piece(piece))

    def _piece(self, piece: dict[str, Any]) -> list[str]:
        path = parse_path(str(piece.get("jsonPath") or ""))
        name = next((key for key in _VALUES if piece.get(key) is not None), None)
        if name is None or not path:
            return []
        more = bool(piece.get("willContinue"))
        if name == "stringValue":
            return self._write_string(path, str(piece[name]), more)
        value = None if name == "nullValue" else piece[name]
        return [*self._end_string(), *self._go_to(path), _text(value)]

    def _write_string(self, path: tuple[Token, ...], value: str, more: bool) -> list[str]:
        goes_on = self._string == path
        out = [] if goes_on else [*self._end_string(), *self._go_to(path), '"']
        out.append(_text(value)[1:-1])
        if not more:
            out.append('"')
        self._string = path if more else None
        return out

    def _end_string(self) -> list[str]:
        ended = ['"'] if self._string is not None else []
        self._string = None
        return ended

    def _go_to(self, path: tuple[Token, ...]) -> list[str]:
        """Close and open containers until the member named by `path` can be written."""
        out: list[str] = []
        wanted = ("", *path[:-1])
        shared = 0
        for container, at, member in zip(self._open, wanted, path, strict=False):
            if container.at != at or container.closer != _closer(member):
                break
            shared += 1
        while len(self._open) > shared:
            out.append(self._open.pop().closer)
        for depth in range(shared, len(wanted)):
            if depth:
                out.append(self._member(wanted[depth]))
            closer = _closer(path[depth])
            self._open.append(_Container(wanted[depth], closer))
            out.append("[" if closer == "]" else "{")
        out.append(self._member(path[-1]))
        return out

    def _member(self, token: Token) -> str:
        container = self._open[-1]
        comma = "," if container.members else ""
        container.members += 1
        return comma if isinstance(token, int) else f"{comma}{_text(token)}:"
