"""Calls whose arguments are still streaming: which piece belongs to which call, and which are confirmed.

A stream begins with a call's name; further pieces have its id, or none if only one call is possible. A
complete call in a partial event is one piece. The model's non-partial event confirms the calls by id, or,
if an adapter gave the previews other ids, by name and in order. Calls that it does not confirm are
withdrawn.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT, AdkEvent, FunctionCall, Part
from adk_prism.facts.deltas import ToolEvent, ToolPart
from adk_prism.facts.model import CallAbandoned, CallInputGrew, Fact
from adk_prism.facts.model_call import ModelCall, Place
from adk_prism.facts.open_calls import Calls, OpenCall
from adk_prism.facts.state import is_given, repair

# ---------------------------------------------------------------------------
# Streamed call arguments: from `partialArgs` (path and value) to a growing JSON text.
#
# Gemini names each piece by its JSON path (`$.city`, `$.stops[0].name`) and may split strings. The
# text grown from the pieces is a prefix of a JSON object that holds them, so a client that reads
# partial JSON can show it. Empty containers cannot be said in this form; the confirmed call has the
# whole input.

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


# ---------------------------------------------------------------------------

RESERVED = (CONFIRMATION, CREDENTIAL, INPUT)


class _Streamed:
    """A call whose arguments arrive in pieces."""

    __slots__ = ("call", "is_whole", "writer")

    def __init__(self, call: OpenCall, is_whole: bool) -> None:
        self.call = call
        self.is_whole = is_whole
        """It arrived in one piece."""
        self.writer = ArgumentWriter()


class _Streams:
    """The calls that one model call streams."""

    __slots__ = ("all", "by_id", "current", "unnamed")

    def __init__(self) -> None:
        self.all: list[_Streamed] = []
        self.by_id: dict[str, _Streamed] = {}
        self.unnamed: dict[str, deque[_Streamed]] = {}
        """By tool, in order: for confirmed calls with a new id."""
        self.current: _Streamed | None = None
        """The one whose next piece has no name."""

    def add(self, stream: _Streamed) -> None:
        self.all.append(stream)
        if stream.call.adk_id:
            self.by_id[stream.call.adk_id] = stream
        self.unnamed.setdefault(stream.call.name, deque()).append(stream)

    def newest(self, name: str) -> _Streamed | None:
        """Return the last call, if it is one of that tool and its arguments may continue."""
        last = self.all[-1] if self.all else None
        return last if last is not None and last.call.name == name and not last.is_whole else None

    def next_named(self, name: str, taken: Collection[str]) -> OpenCall | None:
        """Return the oldest unconfirmed call of a tool whose id is not in `taken`."""
        queue = self.unnamed.get(name)
        while queue:
            call = queue.popleft().call
            if not call.requested and call.adk_id not in taken:
                return call
        return None


class StreamedCalls:
    """The calls of one message that streamed before they were made."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._streams: dict[str, _Streams] = {}
        """By model call."""

    def grow(self, part: FunctionCall, model: ModelCall, place: Place) -> CallInputGrew | None:
        """Read a call in a partial event: a piece of its arguments, or all of it."""
        if part.name in RESERVED:
            return None  # requests to a person are read from non-partial events
        streams = self._streams.get(model.name)
        stream = self._stream_of(part, streams) if streams is not None else None
        if stream is None:
            if not part.name:
                return None
            stream = self._open_stream(part, part.name, model, place)
        elif stream.is_whole:
            return None  # repeated
        if stream.call.requested:
            return None  # it has been answered: the rest of its arguments is not needed
        text = _whole(part) if stream.is_whole else _written(part, stream.writer)
        self._streams[model.name].current = stream if part.will_continue else None
        if not text and not part.name:
            return None
        call = stream.call
        return CallInputGrew(call.call, call.name, text, model.speaker, model.name)

    def _stream_of(self, part: FunctionCall, streams: _Streams) -> _Streamed | None:
        """Find the call that a piece belongs to: by id, else the current one."""
        if part.id and part.id in streams.by_id:
            return streams.by_id[part.id]
        current = streams.current
        if current is None and _is_bare(part):
            return streams.newest(part.name or "")
        if current is None or (part.name and (part.id or "") != current.call.adk_id):
            return None
        return current if is_piece(part) or not is_given(part.args) else None

    def _open_stream(
        self, part: FunctionCall, name: str, model: ModelCall, place: Place
    ) -> _Streamed:
        adk_id = part.id or ""
        call = OpenCall(
            self._calls.new_id(adk_id or derived_id(place)), adk_id, name, requested=False
        )
        self._calls.open(call)
        stream = _Streamed(call, is_given(part.args) and not is_piece(part))
        self._streams.setdefault(model.name, _Streams()).add(stream)
        return stream

    def confirmed(
        self, part: FunctionCall, model: ModelCall, event: AdkEvent | ToolEvent
    ) -> OpenCall | None:
        """Find the streamed call that a call of a non-partial event confirms: by id, else by name."""
        streams = self._streams.get(model.name)
        if streams is None:
            return None
        stream = streams.by_id.get(part.id or "")
        if stream is not None and not stream.call.requested:
            return stream.call
        return streams.next_named(part.name or "", _call_ids(event))

    def forget(self, model: ModelCall, out: list[Fact]) -> None:
        """Withdraw streamed calls that their model call did not confirm."""
        streams = self._streams.pop(model.name, None)
        for stream in streams.all if streams is not None else ():
            if not stream.call.requested:
                self._calls.close(stream.call)
                stream.call.requested = (
                    True  # It was reported as abandoned and must not be requested again.
                )
                out.append(CallAbandoned(stream.call.call, stream.call.name, False, True))


def _call_ids(event: AdkEvent | ToolEvent) -> frozenset[str]:
    parts: Sequence[Part | ToolPart] = (
        event.content.parts if event.content is not None else None
    ) or ()
    calls = (part.function_call for part in parts)
    return frozenset([call.id for call in calls if call is not None and call.id])


def is_piece(part: FunctionCall) -> bool:
    """Return whether it is a piece of a call's arguments, not a complete call."""
    return bool(part.will_continue or part.partial_args)


def _is_bare(part: FunctionCall) -> bool:
    """Return whether a piece is plain JSON text: without a path, and with an id of its own (Interactions)."""
    return bool(part.partial_args) and not any(p.get("jsonPath") for p in part.partial_args or ())


def _written(part: FunctionCall, writer: ArgumentWriter) -> str:
    pieces = part.partial_args or []
    if _is_bare(part):
        return "".join(str(piece.get("stringValue") or "") for piece in pieces)
    return writer.write(pieces)


def _whole(part: FunctionCall) -> str:
    """Return the arguments of a complete call as strict JSON."""
    return repair(bytes(part.args), parsed=True).decode()


def derived_id(place: Place) -> str:
    """Return an id for a call without one."""
    return f"call-{place[0]}.{place[1]}"
