"""Calls, their answers, and who they wait for: kept from the request to the answer.

Decides which answer belongs to which call: by ADK's id where there is one, else the oldest open call of
that name. A call is known to the outside by the id under which it was first seen; where a model adapter
gives the streamed preview another id than the confirmed call, the first one stays (`adk_id` is then the
one to answer with). An id names one call of a message, also after its answer.

Whatever is looked up per event has an index: ten thousand open calls cost an event no more than one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from adk_prism.facts.adk_event import REQUESTS, AdkEvent, FunctionCall
from adk_prism.facts.model import CallAbandoned, CallInputGrew, Fact, Speaker
from adk_prism.facts.model_call import ModelCall, Place
from adk_prism.facts.state import is_given, repair
from adk_prism.log.entry import Continues, Decision, Outcome


class OpenCall(Struct, eq=False):
    """A call without an answer."""

    call: str
    adk_id: str
    """Changed by `Calls.confirm` alone, which keeps the indexes."""
    name: str
    requested: bool = True
    """Its input is complete; before that only fragments of it have been seen."""
    provider: bool = False
    """The model's provider runs it: its answer comes with the model's output or never."""
    awaits: bool = False
    """Its answer comes from a person or from the client."""
    decided: bool = False
    """A person's decision about it was passed on: only the run that took it may answer."""
    delegates: bool = False
    """It runs an agent whose output is in the stream."""
    works: bool = False
    """Its tool has said how far it is: no client is asked to run it."""
    in_doubt: bool = False
    """It is in doubt after a takeover: an answer may come, or not."""

    def is_hopeless(self, outcome: Outcome) -> bool:
        """Return whether the call will get no answer, now that its run is over.

        A waiting run continues: with the person's answer, and with the agents it was delegated to. Of a
        finished run a client may answer calls; of any other one only what a person was asked stays.
        """
        if self.in_doubt or self.decided:
            return True
        if outcome == "finished":
            return self.provider or not self.requested or (self.works and not self.awaits)
        return not self.awaits and not (self.delegates and outcome == "waiting")


class _Index:
    """Open calls under a key, the oldest first."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, OpenCall]] = {}

    def add(self, key: str, call: OpenCall) -> None:
        self._calls.setdefault(key, {})[call.call] = call

    def remove(self, key: str, call: OpenCall) -> None:
        calls = self._calls.get(key)
        if calls is not None and calls.pop(call.call, None) is not None and not calls:
            del self._calls[key]

    def oldest(self, key: str) -> OpenCall | None:
        calls = self._calls.get(key)
        return next(iter(calls.values())) if calls else None


class Calls:
    """The calls of one message."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCall] = {}
        self._by_adk_id = _Index()
        self._by_name = _Index()
        self._nameless = _Index()
        """Those without an id of ADK's, by tool."""
        self._ids: dict[str, int] = {}
        """Every id in use, and how many were made of it."""
        self._answered: dict[str, OpenCall] = {}
        self._below: dict[str, list[OpenCall]] = {}
        """Calls of the agents that a call runs, by that call."""
        self._decisions: dict[str, Decision] = {}
        self._gated: dict[str, str] = {}
        """Approval id → call."""
        self._requests: set[str] = set()
        """Reserved calls (input, credential) that wait for a person."""
        self._left_behind: frozenset[str] = frozenset()
        """Calls without an answer when the user sent another message."""

    # -------------------------------------------------------------- opening

    def resume(self, continues: Continues) -> None:
        """Take over the open calls and the decisions of the message that continues.

        What is open waits for somebody or runs an agent, or its run would have abandoned it; a decision
        that is passed on to ADK ends the waiting.
        """
        delegated = frozenset(continues.delegated)
        for call, name in continues.open_calls.items():
            self._ids[call] = 1
            opened = OpenCall(call, continues.adk_ids.get(call, call), name)
            opened.decided = call in continues.decisions and not continues.held
            opened.delegates = call in delegated
            opened.awaits = not (opened.decided or opened.delegates)
            self.open(opened)
        self._decisions.update(continues.decisions)

    def new_id(self, wanted: str) -> str:
        """Return an id for a new call: the wanted one, unless the message had a call with it."""
        number = self._ids.get(wanted, 0) + 1
        call = wanted
        if number > 1:
            while (call := f"{wanted}~{number}") in self._ids:
                number += 1
            self._ids[call] = 1
        self._ids[wanted] = number
        return call

    def open(self, call: OpenCall) -> None:
        """Begin to wait for a call's answer."""
        self._open[call.call] = call
        self._index(call)

    def confirm(self, call: OpenCall, adk_id: str) -> None:
        """Take the id under which ADK made the call that was only streamed before."""
        self._unindex(call)
        call.adk_id, call.requested = adk_id, True
        self._index(call)

    def _index(self, call: OpenCall) -> None:
        if call.adk_id:
            self._by_adk_id.add(call.adk_id, call)
        if call.requested:  # A call that is still streaming can be answered only by its exact id.
            self._by_name.add(call.name, call)
            if not call.adk_id:
                self._nameless.add(call.name, call)

    def _unindex(self, call: OpenCall) -> None:
        self._by_name.remove(call.name, call)
        if call.adk_id:
            self._by_adk_id.remove(call.adk_id, call)
        else:
            self._nameless.remove(call.name, call)

    def running(self, speaker: Speaker) -> Iterator[OpenCall]:
        """Yield the open calls that run a speaker, the innermost first.

        Their ids end the steps of its branch, or of its path.
        """
        for step in (*reversed(speaker.path.split("/")), *reversed(speaker.branch.split("."))):
            call = self.by_adk_id(step.rpartition("@")[2]) if "@" in step else None
            if call is not None:
                yield call

    def nest(self, call: OpenCall, speaker: Speaker) -> None:
        """Note whose call it is: with the answer to the call that runs its speaker, it is over."""
        if len(self._open) < 2:
            return  # only the call itself is open: saves splitting the path of most calls
        outer = next(self.running(speaker), None)
        if outer is not None and outer is not call:
            self._below.setdefault(outer.call, []).append(call)

    def delegate(self, call: OpenCall) -> None:
        """Note that a call runs an agent: whatever it waited for has come."""
        call.delegates, call.awaits = True, False

    def doubt(self, calls: Iterable[str]) -> None:
        """Note that the run continued without these calls, or ran them again."""
        for name in calls:
            call = self._open.get(name)
            if call is not None:
                call.in_doubt, call.awaits = True, False

    def by_id(self, call: str) -> OpenCall | None:
        """Find an open call by the id clients know."""
        return self._open.get(call)

    def by_adk_id(self, adk_id: str) -> OpenCall | None:
        """Find an open call by the id ADK knows."""
        return self._by_adk_id.oldest(adk_id)

    def working(self, adk_id: str) -> OpenCall | None:
        """Find the open call whose tool says how far it is; none while a person is asked about it."""
        call = self.by_adk_id(adk_id)
        if call is None or not call.requested:
            return None
        if call.awaits and call.call in self._gated.values():
            return None
        call.works = True
        return call

    # -------------------------------------------------------------- answering

    def match(self, adk_id: str, name: str) -> OpenCall | None:
        """Find the call that an answer is for, also one that was answered before."""
        if adk_id:
            found = self._by_adk_id.oldest(adk_id) or self._answered.get(adk_id)
            return found or self._nameless.oldest(name)
        return self._nameless.oldest(name) or self._by_name.oldest(name)

    def close(self, call: OpenCall) -> list[OpenCall]:
        """Note the answer. A later one for the same call is still matched to it.

        Return the open calls of the agents that it ran, which are over: their answers are not taken.
        """
        self._drop(call)
        self._answered[call.adk_id or call.call] = call
        if not self._below:
            return []
        return [left for inner in self._below.pop(call.call, ()) for left in self._orphans(inner)]

    def _orphans(self, call: OpenCall) -> Iterator[OpenCall]:
        for inner in self._below.pop(call.call, ()):
            yield from self._orphans(inner)
        if call.call in self._open:
            self._drop(call)
            yield call

    def _drop(self, call: OpenCall) -> None:
        if self._open.pop(call.call, None) is not None:
            self._unindex(call)

    # -------------------------------------------------------------- people

    def gate(self, approval: str, call: OpenCall) -> None:
        """Note that a person is asked about a call."""
        call.awaits, call.decided, call.in_doubt = True, False, False
        self._gated[approval] = call.call

    def is_asked(self, approval: str) -> bool:
        """Return whether the question has been asked before."""
        return approval in self._gated

    def decide(self, approval: str, approved: bool, reason: str = "") -> str | None:
        """Note a person's answer that is itself in the stream; return the call it is about."""
        call = self._gated.get(approval)
        if call is not None:
            self._decisions[call] = Decision(approval=approval, approved=approved, reason=reason)
            opened = self._open.get(call)
            if opened is not None:
                opened.awaits, opened.decided = False, True
        return call

    def undecided(self) -> list[tuple[str, OpenCall]]:
        """Return the unanswered questions, and the calls that they are about."""
        asked = [(approval, self._open.get(call)) for approval, call in self._gated.items()]
        return [(approval, call) for approval, call in asked if call is not None and call.awaits]

    def denial(self, call: OpenCall) -> Decision | None:
        """Return the decision by which a call was denied, if it was."""
        decision = self._decisions.get(call.call)
        return decision if decision is not None and not decision.approved else None

    def request(self, reserved: str) -> None:
        """Note that a reserved call waits for a person."""
        self._requests.add(reserved)

    def satisfy(self, reserved: str) -> None:
        """Note the answer to a reserved call."""
        self._requests.discard(reserved)

    # -------------------------------------------------------------- the end

    @property
    def awaiting(self) -> bool:
        """Return whether a person or the client is waited for."""
        return bool(self._requests) or any(call.awaits for call in self._open.values())

    @property
    def asks(self) -> bool:
        """Return whether a person is asked for something, and nothing but that is waited for."""
        return bool(self._requests) and not any(call.awaits for call in self._open.values())

    @property
    def answerable(self) -> bool:
        """Return whether there is a call or a question that a person or the client may still answer."""
        return bool(self._requests) or any(not call.delegates for call in self._open.values())

    def owed(self) -> list[OpenCall]:
        """Return the open calls whose answer is the run's own to give, but for agents at work."""
        return [
            call
            for call in self._open.values()
            if call.requested and not (call.awaits or call.delegates or call.provider)
        ]

    def go_on(self) -> None:
        """Note that the user sent another message: unanswered calls no longer keep the run waiting."""
        self._left_behind = frozenset(self._open)

    @property
    def owing(self) -> bool:
        """Return whether the run itself has to answer a call of the user's last turn."""
        return any(call.call not in self._left_behind for call in self.owed())

    def abandon(self, outcome: Outcome, *, all_of_them: bool = False) -> Iterator[OpenCall]:
        """Yield and forget the open calls that get no answer after such an end."""
        for call in list(self._open.values()):
            if all_of_them or call.is_hopeless(outcome):
                self._drop(call)
                yield call


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


class _Container(Struct, eq=False):
    """An object or array that is being written."""

    at: Token
    closer: str
    members: int = 0


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


class _Streamed(Struct, eq=False):
    """A call whose arguments arrive in pieces."""

    call: OpenCall
    is_whole: bool
    """It arrived in one piece."""
    writer: ArgumentWriter = field(default_factory=ArgumentWriter)


class _Streams(Struct, eq=False):
    """The calls that one model call streams."""

    all: list[_Streamed] = []
    by_id: dict[str, _Streamed] = {}
    unnamed: dict[str, deque[_Streamed]] = {}
    """By tool, in order: for confirmed calls with a new id."""
    current: _Streamed | None = None
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
        if part.name in REQUESTS:
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

    def confirmed(self, part: FunctionCall, model: ModelCall, event: AdkEvent) -> OpenCall | None:
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


def _call_ids(event: AdkEvent) -> frozenset[str]:
    parts = (event.content.parts if event.content is not None else None) or ()
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
