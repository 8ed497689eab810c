"""Tool calls: begun once, their arguments in pieces, ended, and answered once.

All calls of a model call are one assistant message, so that a client keeps their results behind them. A
call of an earlier run gets its result alone: it is not begun again. A second answer of the same run, as
long-running tools give them, is an activity beside the call.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import UNSET

from adk_prism.facts import model as fact
from adk_prism.facts.state import read_value
from adk_prism.protocols.ag_ui import frames
from adk_prism.protocols.ag_ui.notices import Tag, spoken_by

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


class _Call:
    """A call that was begun in this run, or left open by an earlier one."""

    __slots__ = ("awaits", "id", "name", "pieces", "state", "tag")

    def __init__(self, name: str, tool_call: str, tag: Tag) -> None:
        self.name = name
        self.id = tool_call
        self.tag = tag
        self.pieces: list[str] = []
        """Arguments that were sent."""
        self.state: Literal["streaming", "made", "answered"] = "streaming"
        self.awaits = False
        """Its answer comes late, or from the client."""


class Calls:
    """The calls of one run; `within` names the tool in which an agent makes its own."""

    def __init__(self, run: str, message: str) -> None:
        self._run = run
        self._message = message
        self._calls: dict[tuple[str, str], _Call] = {}
        self._by_adk_id: dict[str, str] = {}
        """Ids by which ADK knows calls, where they are others than ours."""
        self._delegated: set[str] = set()

    def id_of(self, call: str, within: str = "") -> str:
        """Return the id under which the client knows a call."""
        known = self._calls.get((within, call))
        if known is not None:
            return known.id
        # Models that count their calls begin anew inside a tool.
        return f"{call}@{self._message}/{within}" if within else tool_call_id(call, self._message)

    def id_at(self, adk_id: str) -> str:
        """Return the id under which the client knows a call that ADK knows by another one."""
        return self.id_of(self._by_adk_id.get(adk_id, adk_id))

    def name_of(self, call: str) -> str:
        """Return the name of a call's tool; empty for a call that is not known."""
        known = self._calls.get(("", call))
        return known.name if known is not None else ""

    def claim(self, adk_id: str, tag: Tag) -> None:
        """Note whose a call of an earlier run is: known when its tool begins to run."""
        known = self._calls.get(("", self._by_adk_id.get(adk_id, adk_id)))
        if known is not None and known.tag is UNSET:
            known.tag = tag

    def tag_of(self, call: str) -> Tag:
        """Return the sub-agent that made a call."""
        known = self._calls.get(("", call))
        return known.tag if known is not None else UNSET

    def resume(self, calls: dict[str, str]) -> None:
        """Know the calls that an earlier run left open."""
        for call, name in calls.items():
            known = self._calls["", call] = _Call(name, self.id_of(call), UNSET)
            known.state = "made"

    def delegate(self, call: str) -> None:
        """Note that a call runs an agent, and waits for nobody."""
        self._delegated.add(call)

    def expect(self, call: str) -> None:
        """Note that a call is long-running."""
        known = self._calls.get(("", call))
        if known is not None:
            known.awaits = True

    # -------------------------------------------------------------- begin, grow, end

    def grow(
        self, item: fact.CallInputGrew, tag: Tag, within: str, out: list[frames.Frame]
    ) -> None:
        """Send a piece of the arguments that a model is still writing."""
        call = self._calls.get((within, item.call)) or self._begin(item, tag, within, {}, out)
        self._send(call, item.json_fragment, out)

    def request(
        self, item: fact.CallRequested, tag: Tag, within: str, seen: bool, out: list[frames.Frame]
    ) -> None:
        """Send a whole call, or the rest of one. `seen`: the run has the call, not its answer alone."""
        self._by_adk_id[item.adk_id] = item.call
        call = self._calls.get((within, item.call))
        if call is not None and call.state != "streaming":
            return
        about: frames.Json = {"providerExecuted": True} if item.provider_executed else {}
        about |= {"longRunning": True} if item.long_running else {}
        if call is None:
            call = self._begin(item, tag, within, about, out)
            about = {}
        if not seen:
            self._complete(call, out)
        elif not self._send_rest(call, frames.text_of(item.input), out):
            about["input"] = frames.bounded(item.input)
        call.state = "made"
        call.pieces.clear()
        # What an end says replaces what the start did, so it is said whole or not at all.
        data = spoken_by(item.speaker, **about) if about else UNSET
        out.append(frames.ToolCallEnd(call.id, subagent_run_id=call.tag, metadata=data))
        if item.signature:
            out.append(
                frames.ReasoningEncryptedValue(
                    "tool-call", call.id, item.signature, subagent_run_id=call.tag
                )
            )

    def _send_rest(self, call: _Call, text: str, out: list[frames.Frame]) -> bool:
        """Send what is missing of the arguments; return whether they are what the call was made with."""
        sent = "".join(call.pieces)
        if text.startswith(sent):
            self._send(call, text[len(sent) :], out)
            return True
        self._complete(call, out)
        return bool(read_value("".join(call.pieces).encode()) == read_value(text.encode()))

    def _begin(
        self,
        item: fact.CallInputGrew | fact.CallRequested,
        tag: Tag,
        within: str,
        about: frames.Json,
        out: list[frames.Frame],
    ) -> _Call:
        call = self._calls[within, item.call] = _Call(item.name, self.id_of(item.call, within), tag)
        parent = "-".join(filter(None, (self._run, within, item.model_call)))
        data = spoken_by(item.speaker, **about)
        out.append(
            frames.ToolCallStart(call.id, item.name, parent, subagent_run_id=tag, metadata=data)
        )
        return call

    def _complete(self, call: _Call, out: list[frames.Frame]) -> None:
        """End arguments that break off: clients parse them."""
        self._send(call, ending("".join(call.pieces)), out)

    def _send(self, call: _Call, text: str, out: list[frames.Frame]) -> None:
        if text:
            call.pieces.append(text)
            out.extend(
                frames.ToolCallArgs(call.id, piece, subagent_run_id=call.tag)
                for piece in frames.pieces(text)
            )

    # -------------------------------------------------------------- answers

    def answer(
        self,
        call: str,
        name: str,
        output: str,
        status: Status,
        *,
        error: str = "",
        within: str = "",
        known: bool = False,
        out: list[frames.Frame],
    ) -> None:
        """Send a result. `known`: the client sent it itself, and needs no telling."""
        made = self._calls.get((within, call))
        if made is None:
            made = self._calls[within, call] = _Call(name, self.id_of(call, within), UNSET)
            made.state = "made"
        if made.state == "streaming":
            self._complete(made, out)
            made.pieces.clear()
            out.append(frames.ToolCallEnd(made.id, subagent_run_id=made.tag))
        is_repeated = made.state == "answered"
        made.state = "answered"
        if known:
            return
        if made.awaits and status == "ok":
            status = "interim"
        if not is_repeated:
            about: frames.Json = {} if status == "ok" else {"status": status}
            about |= {"error": error} if error else {}
            content = output if frames.fits(len(output)) else frames.too_large(len(output))
            out.append(
                frames.ToolCallResult(
                    "-".join(filter(None, (self._run, "result", within, call))),
                    made.id,
                    content,
                    "tool",
                    subagent_run_id=made.tag,
                    metadata={"adk": about} if about else UNSET,
                )
            )
        if is_repeated or status == "interim":
            self._go_on(call, made, output if is_repeated else "", within, out)

    def _go_on(
        self, call: str, made: _Call, output: str, within: str, out: list[frames.Frame]
    ) -> None:
        """Tell that a call's tool is still at work."""
        data: frames.Json = {"toolCallId": made.id, "toolName": made.name, "status": "running"}
        if output:
            data["output"] = output if frames.fits(len(output)) else frames.too_large(len(output))
        name = "-".join(filter(None, (self._run, "running", within, call)))
        out.append(frames.ActivitySnapshot(name, LONG_RUNNING, data, subagent_run_id=made.tag))

    # -------------------------------------------------------------- the end

    def close(self, out: list[frames.Frame]) -> None:
        """End the calls whose arguments never ended."""
        for call in self._calls.values():
            if call.state == "streaming":
                call.state = "made"
                self._complete(call, out)
                call.pieces.clear()
                out.append(frames.ToolCallEnd(call.id, subagent_run_id=call.tag))

    def pending(self, asked: set[str]) -> list[str]:
        """Return the ids of calls that wait for the client; `asked` wait for a person."""
        return [
            call.id
            for (within, name), call in self._calls.items()
            if call.state != "answered"
            and not within
            and name not in asked
            and name not in self._delegated
        ]
