"""Calls whose arguments a model still writes: which piece belongs to which call, and which are confirmed.

A stream begins with a call's name; further pieces have its id, or nothing where only one call can be
meant. A call that comes whole in a partial event is one piece, shown when it comes. The model's non-partial
event confirms the calls, by id; where an adapter gives them other ids than their previews had, by name and
in order. What it does not confirm is withdrawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT, FunctionCall
from adk_prism.facts.calls.argument_writer import ArgumentWriter
from adk_prism.facts.calls.open_calls import Calls, OpenCall
from adk_prism.facts.json_value import is_given
from adk_prism.facts.model import CallAbandoned, CallInputGrew, Fact
from adk_prism.facts.model_call import ModelCall, Place
from adk_prism.facts.strict_json import repair

RESERVED = (CONFIRMATION, CREDENTIAL, INPUT)


class _Streamed:
    """A call whose arguments arrive in pieces."""

    __slots__ = ("call", "is_whole", "writer")

    def __init__(self, call: OpenCall, is_whole: bool) -> None:
        self.call = call
        self.is_whole = is_whole
        """It came in one piece."""
        self.writer = ArgumentWriter()


class _Streams:
    """The calls that one model call streams."""

    __slots__ = ("all", "by_id", "current", "unnamed")

    def __init__(self) -> None:
        self.all: list[_Streamed] = []
        self.by_id: dict[str, _Streamed] = {}
        self.unnamed: dict[str, deque[_Streamed]] = {}
        """By tool, in order: for confirmed calls whose id was not seen before."""
        self.current: _Streamed | None = None
        """The one whose next piece needs no name."""

    def add(self, stream: _Streamed) -> None:
        self.all.append(stream)
        if stream.call.adk_id:
            self.by_id[stream.call.adk_id] = stream
        self.unnamed.setdefault(stream.call.name, deque()).append(stream)

    def newest(self, name: str) -> _Streamed | None:
        """Return the last call, if it is one of that tool and its arguments may go on."""
        last = self.all[-1] if self.all else None
        return last if last is not None and last.call.name == name and not last.is_whole else None

    def next_named(self, name: str, taken: Collection[str]) -> OpenCall | None:
        """Return the oldest unconfirmed call of a tool whose id none of the `taken` ones is."""
        queue = self.unnamed.get(name)
        while queue:
            call = queue.popleft().call
            if not call.requested and call.adk_id not in taken:
                return call
        return None


class StreamedCalls:
    """The calls of one message that were seen before they were made."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._streams: dict[str, _Streams] = {}
        """By model call."""

    def grow(self, part: FunctionCall, model: ModelCall, place: Place) -> CallInputGrew | None:
        """Take a call in a partial event: a piece of its arguments, or all of it."""
        if part.name in RESERVED:
            return None  # ADK asks a person; it does so in whole events
        streams = self._streams.get(model.name)
        stream = self._stream_of(part, streams) if streams is not None else None
        if stream is None:
            if not part.name:
                return None
            stream = self._open_stream(part, part.name, model, place)
        elif stream.is_whole:
            return None  # said again
        if stream.call.requested:
            return None  # it has been answered: nobody needs the rest of what was asked
        text = _whole(part) if stream.is_whole else _written(part, stream.writer)
        self._streams[model.name].current = stream if part.will_continue else None
        if not text and not part.name:
            return None
        call = stream.call
        return CallInputGrew(call.call, call.name, text, model.speaker, model.name)

    def _stream_of(self, part: FunctionCall, streams: _Streams) -> _Streamed | None:
        """Find the call that a piece belongs to: the one of its id, else the one that goes on."""
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
        self, part: FunctionCall, model: ModelCall, taken: Collection[str]
    ) -> OpenCall | None:
        """Find the streamed call that a confirmed one completes: by id, else in order by name."""
        streams = self._streams.get(model.name)
        if streams is None:
            return None
        stream = streams.by_id.get(part.id or "")
        if stream is not None and not stream.call.requested:
            return stream.call
        return streams.next_named(part.name or "", taken)

    def forget(self, model: ModelCall, out: list[Fact]) -> None:
        """Withdraw streamed calls that their model call did not confirm."""
        streams = self._streams.pop(model.name, None)
        for stream in streams.all if streams is not None else ():
            if not stream.call.requested:
                self._calls.close(stream.call)
                stream.call.requested = True  # Told as made and given up: it is not made again.
                out.append(CallAbandoned(stream.call.call, stream.call.name, False, True))


def is_piece(part: FunctionCall) -> bool:
    """Tell a piece of a call's arguments from a call that comes whole."""
    return bool(part.will_continue or part.partial_args)


def _is_bare(part: FunctionCall) -> bool:
    """Tell a piece that is plain JSON text: one without a path, and with an id of its own (Interactions)."""
    return bool(part.partial_args) and not any(p.get("jsonPath") for p in part.partial_args or ())


def _written(part: FunctionCall, writer: ArgumentWriter) -> str:
    pieces = part.partial_args or []
    if _is_bare(part):
        return "".join(str(piece.get("stringValue") or "") for piece in pieces)
    return writer.write(pieces)


def _whole(part: FunctionCall) -> str:
    """Return the arguments of a whole call as JSON that every client can read."""
    return repair(bytes(part.args), parsed=True).decode()


def derived_id(place: Place) -> str:
    """Make an id for a call that came without one."""
    return f"call-{place[0]}.{place[1]}"
