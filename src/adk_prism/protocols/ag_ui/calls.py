"""Tool calls: begun once, their arguments in pieces, ended, and answered once.

All calls of a model call are one assistant message, so that a client keeps their results behind them. A
call of an earlier run gets its result alone: it is not begun again. A second answer of the same run, as
long-running tools give them, is an activity beside the call.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from adk_prism.facts import model as fact
from adk_prism.facts.state import read_value
from adk_prism.protocols.ag_ui import frames
from adk_prism.protocols.ag_ui.notices import Stream, Tag, spoken_by

# ---------------------------------------------------------------------------
# Ids of tool calls: unique in a thread, since a client finds a call by its id in all its messages.
#
# ADK's own ids, and those of the large providers, are unique anywhere and stay as they are. A short
# one (`call-1`) is a model's own count, which begins anew with the next message: there a client would
# add the new arguments to the old call. Such an id is sent with the id of its message after it.

_MARK = "@"
UNIQUE = 16
"""Characters from which on an id is taken for unique: a counter is shorter, a random id is longer."""


def tool_call_id(call: str, message: str) -> str:
    """Return the id under which a client knows a call of a message."""
    return call if len(call) >= UNIQUE and _MARK not in call else f"{call}{_MARK}{message}"


def call_of(tool_call: str) -> str:
    """Return the call that a client means: the id by which facts name it."""
    before, mark, _ = tool_call.rpartition(_MARK)
    return before if mark else tool_call


# ---------------------------------------------------------------------------
# The end of a JSON text that breaks off: what has to follow so that it can be read.
#
# A call whose arguments stop in the middle stays in a client's messages, and clients parse them.

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?$|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_LITERALS = ("true", "false", "null")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def ending(text: str) -> str:
    """Return what completes a JSON text, with as little said as possible; empty for a whole one."""
    stack: list[str] = []
    before, last = "", ""
    for match in _TOKEN.finditer(text):
        before, last = last, match[0]
        if last in _CLOSERS:
            stack.append(last)
        elif last in ("}", "]") and stack:
            stack.pop()
    if not stack:
        return ""
    data = _value_ending(last)
    is_key = stack[-1] == "{" and before in ("{", ",") and last not in (*_CLOSERS, "}", "]", ",")
    if is_key:
        data += ":null"
    elif last == ":" or (last == "," and stack[-1] == "["):
        data += "null"
    elif last == ",":
        data += '"":null'
    return data + "".join(_CLOSERS[opener] for opener in reversed(stack))


def _value_ending(token: str) -> str:
    """Return what completes the last token."""
    if token.startswith('"'):
        return _string_ending(token)
    for literal in _LITERALS:
        if token and literal.startswith(token):
            return literal[len(token) :]
    is_cut = token[:1] in "-0123456789" and token and not _NUMBER.fullmatch(token)
    return "0" if is_cut else ""


def _string_ending(token: str) -> str:
    """Return what ends a string; an escape that is cut is completed first."""
    if len(token) > 1 and token.endswith('"') and not _is_escaped(token):
        return ""
    escape = re.search(r"(?:^|[^\\])(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$", token)
    if escape is None:
        return '"'
    digits = len(escape[1]) - 2
    return ("\\" if digits < 0 else "0" * (4 - digits)) + '"'


def _is_escaped(token: str) -> bool:
    """Tell whether the quotation mark at the end is part of the string."""
    body = token[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


# ---------------------------------------------------------------------------

Status = Literal["ok", "interim", "error", "denied", "abandoned", "withdrawn"]
LONG_RUNNING = "adk.long_running"


class _Call(Struct, eq=False):
    """A call that was begun in this run, or left open by an earlier one."""

    name: str
    id: str
    tag: Tag
    pieces: list[str] = []
    """Arguments that were sent."""
    state: Literal["streaming", "made", "answered"] = "streaming"
    awaits: bool = False
    """Its answer comes late, or from the client."""


class Calls:
    """The calls of one run; an agent inside a tool makes its own."""

    def __init__(self, stream: Stream, *, is_replayed: bool) -> None:
        """`is_replayed`: the client was shown nothing of it before."""
        self._stream = stream
        self._is_replayed = is_replayed
        self._calls: dict[tuple[str, str], _Call] = {}
        """By the tool inside which they are made, and their id."""
        self._by_adk_id: dict[str, str] = {}
        """Ids by which ADK knows calls, where they are others than ours."""
        self._delegated: set[str] = set()

    def get(self, call: str) -> _Call:
        """Return a call of the run's own, as it is known: without a name and a maker, where it is not."""
        return self._calls.get(("", call)) or _Call(
            "", tool_call_id(call, self._stream.message), UNSET
        )

    def get_adk(self, adk_id: str) -> _Call:
        """Return a call that ADK may know by another id."""
        return self.get(self._by_adk_id.get(adk_id, adk_id))

    def resume(self, calls: dict[str, str]) -> None:
        """Know the calls that an earlier run left open."""
        for call, name in calls.items():
            self._add(call, name, UNSET).state = "made"

    def delegate(self, item: fact.CallDelegated) -> None:
        """Note that a call runs an agent, and waits for nobody."""
        self._delegated.add(item.call)

    def expect(self, item: fact.CallPending) -> None:
        """Note that a call is long-running."""
        self.get(item.call).awaits = True

    def _add(self, call: str, name: str, tag: Tag) -> _Call:
        within, message = self._stream.within, self._stream.message
        # Models that count their calls begin anew inside a tool.
        known = f"{call}@{message}/{within}" if within else tool_call_id(call, message)
        made = self._calls[within, call] = _Call(name, known, tag)
        return made

    # -------------------------------------------------------------- begin, grow, end

    def grow(self, item: fact.CallInputGrew) -> None:
        """Send a piece of the arguments that a model is still writing."""
        call = self._calls.get((self._stream.within, item.call)) or self._begin(item, {})
        self._send(call, item.json_fragment)

    def request(self, item: fact.CallRequested, *, seen: bool = True) -> None:
        """Send a whole call, or the rest of one. `seen`: the run has the call, not its answer alone."""
        self._by_adk_id[item.adk_id] = item.call
        call = self._calls.get((self._stream.within, item.call))
        if call is not None and call.state != "streaming":
            return
        about: frames.Json = {"providerExecuted": True} if item.provider_executed else {}
        about |= {"longRunning": True} if item.long_running else {}
        if call is None:
            call = self._begin(item, about)
            about = {}
        if not seen:
            self._complete(call)
        elif not self._send_rest(call, frames.text_of(item.input)):
            about["input"] = frames.bounded(item.input)
        # What an end says replaces what the start did, so it is said whole or not at all.
        self._end(call, spoken_by(item.speaker, **about) if about else UNSET)
        self._stream.sign("tool-call", call.id, item.signature, call.tag)

    def _send_rest(self, call: _Call, text: str) -> bool:
        """Send what is missing of the arguments; return whether they are what the call was made with."""
        sent = "".join(call.pieces)
        if text.startswith(sent):
            self._send(call, text[len(sent) :])
            return True
        self._complete(call)
        return bool(read_value("".join(call.pieces).encode()) == read_value(text.encode()))

    def _begin(self, item: fact.CallInputGrew | fact.CallRequested, about: frames.Json) -> _Call:
        call = self._add(item.call, item.name, self._stream.tag(item.speaker))
        parent, data = self._stream.id(item.model_call), spoken_by(item.speaker, **about)
        self._stream.show(
            frames.ToolCallStart(
                call.id, item.name, parent, subagent_run_id=call.tag, metadata=data
            )
        )
        return call

    def _complete(self, call: _Call) -> None:
        """End arguments that break off: clients parse them."""
        self._send(call, ending("".join(call.pieces)))

    def _send(self, call: _Call, text: str) -> None:
        if text:
            call.pieces.append(text)
            self._stream.show(
                *(
                    frames.ToolCallArgs(call.id, piece, subagent_run_id=call.tag)
                    for piece in frames.pieces(text)
                )
            )

    def _end(self, call: _Call, about: frames.Json | UnsetType = UNSET) -> None:
        call.state = "made"
        call.pieces.clear()
        self._stream.show(frames.ToolCallEnd(call.id, subagent_run_id=call.tag, metadata=about))

    # -------------------------------------------------------------- answers

    def answer(self, call: str, name: str, output: str, status: Status, error: str = "") -> None:
        """Send a result."""
        stream = self._stream
        made = self._calls.get((stream.within, call))
        if made is None:
            made = self._add(call, name, UNSET)
        elif made.state == "streaming":
            self._complete(made)
            self._end(made)
        is_repeated = made.state == "answered"
        made.state = "answered"
        if stream.cursor == 1 and not self._is_replayed:
            return  # it came with the request that began the run: its client has sent it itself
        if made.awaits and status == "ok":
            status = "interim"
        content = output if frames.fits(len(output)) else frames.too_large(len(output))
        names = filter(None, (stream.within, call))
        if not is_repeated:
            about: frames.Json = {} if status == "ok" else {"status": status}
            about |= {"error": error} if error else {}
            stream.show(
                frames.ToolCallResult(
                    "-".join((stream.run, "result", *names)),
                    made.id,
                    content,
                    "tool",
                    subagent_run_id=made.tag,
                    metadata={"adk": about} if about else UNSET,
                )
            )
        if is_repeated or status == "interim":  # its tool is still at work
            data = {"toolCallId": made.id, "toolName": made.name, "status": "running"}
            data |= {"output": content} if is_repeated and output else {}
            name = "-".join(filter(None, (stream.run, "running", stream.within, call)))
            stream.show(frames.ActivitySnapshot(name, LONG_RUNNING, data, subagent_run_id=made.tag))

    # -------------------------------------------------------------- the end

    def close(self) -> None:
        """End the calls whose arguments never ended."""
        for call in self._calls.values():
            if call.state == "streaming":
                self._complete(call)
                self._end(call)

    def pending(self, asked: set[str]) -> list[str]:
        """Return the ids of calls that wait for the client; `asked` wait for a person."""
        return [
            call.id
            for (within, name), call in self._calls.items()
            if call.state != "answered" and not within and name not in asked | self._delegated
        ]
