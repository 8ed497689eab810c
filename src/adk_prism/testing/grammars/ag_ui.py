"""What holds in every AG-UI stream of ours: for `laws`.

The rules of `verifyEvents` in the npm package `@ag-ui/client` (0.0.59 and 1.0.0), and stricter where we
know more: each message and call is opened once, only what was made is answered, once, and nothing is open
at the end, however the run ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from adk_prism.log.entry import Entry, RunEnded
from adk_prism.protocols.contract import Fault, Payload

Event = dict[str, Any]

_ENDS = ("RUN_FINISHED", "RUN_ERROR")


def balanced(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield what is not balanced: messages, calls, steps, sub-agents, or anything outside the run."""
    run = _Run()
    for entry, payloads in zip(entries, frames, strict=True):
        for part, payload in enumerate(payloads, 1):
            event = msgspec.json.decode(payload.data)
            wrong = run.take(event)
            if wrong:
                yield f"{entry.cursor}.{part}", f"{event['type']}: {wrong}"


def terminated(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield an end that is missing, repeated, early or not the last thing said."""
    for entry, payloads in zip(entries, frames, strict=True):
        names = [msgspec.json.decode(payload.data)["type"] for payload in payloads]
        ends = [name for name in names if name in _ENDS]
        if isinstance(entry.record, RunEnded):
            if len(ends) != 1 or names[-1] not in _ENDS:
                yield str(entry.cursor), f"the run ends with {', '.join(names) or 'nothing'}"
        elif ends:
            yield str(entry.cursor), f"{ends[0]} comes before the run's end"


class _Run:
    """One run, as far as it has been read."""

    def __init__(self) -> None:
        self._last = ""
        self._open: dict[tuple[str, str], str | None] = {}
        """Kind and id of all that is open → its sub-agent."""
        self._owners: dict[tuple[str, str], str | None] = {}
        """The same of all that ever was."""
        self._results: set[str] = set()
        self._subagents: set[str] = set()

    def take(self, event: Event) -> str:
        """Take the next event; return what is wrong with it, or nothing."""
        kind = event["type"]
        if (kind == "RUN_STARTED") != (not self._last):
            return "the first event, and no other, is RUN_STARTED"
        if self._last in _ENDS:
            return f"after {self._last}"
        self._last = kind
        rule = _RULES.get(kind)
        return rule(self, event) if rule is not None else "no such event"

    def open(self, kind: str, name: str, owner: str | None) -> str:
        """Open something; it must be new."""
        if (kind, name) in self._owners:
            return f"{kind} {name} was opened before"
        self._open[kind, name] = self._owners[kind, name] = owner
        return ""

    def grow(self, kind: str, name: str, owner: str | None) -> str:
        """Continue something that is open, for whom it was opened."""
        if (kind, name) not in self._open:
            return f"{kind} {name} is not open"
        opener = self._open[kind, name]
        return "" if owner == opener else f"{kind} {name} belongs to {opener}"

    def close(self, kind: str, name: str, owner: str | None) -> str:
        """End something that is open."""
        wrong = self.grow(kind, name, owner)
        self._open.pop((kind, name), None)
        return wrong

    # -------------------------------------------------------------- what is not a bracket

    def accept(self, _: Event) -> str:
        return ""

    def end(self, _: Event) -> str:
        left = ", ".join(sorted(f"{kind} {name}" for kind, name in self._open))
        return f"{left} still open" if left else ""

    def answer(self, event: Event) -> str:
        call = event["toolCallId"]
        if ("call", call) in self._open:
            return f"{call} is still being made"
        if call in self._results:
            return f"{call} was answered before"
        self._results.add(call)
        return ""

    def sign(self, event: Event) -> str:
        name, owner = event["entityId"], event.get("subagentRunId")
        kinds = ("call",) if event["subtype"] == "tool-call" else ("text", "reasoning message")
        known = [self._owners[kind, name] for kind in kinds if (kind, name) in self._owners]
        if not known:
            return f"there is no {' or '.join(kinds)} {name}"
        return "" if owner == known[0] else f"{name} belongs to {known[0]}"

    def begin_step(self, event: Event) -> str:
        owner, name = event.get("subagentRunId"), event["stepName"]
        key = ("step", f"{owner}: {name}")
        if key in self._open:
            return f"{name} is open already"
        self._open[key] = owner
        return ""

    def end_step(self, event: Event) -> str:
        owner, name = event.get("subagentRunId"), event["stepName"]
        return self.close("step", f"{owner}: {name}", owner)

    def begin_subagent(self, event: Event) -> str:
        name, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        if parent is not None and parent not in self._subagents:
            return f"{parent} never began"
        self._subagents.add(name)
        return self.open("sub-agent", name, None)

    def end_subagent(self, event: Event) -> str:
        return self.close("sub-agent", event["subagentRunId"], None)


_Rule = Callable[[_Run, Event], str]


_Act = Callable[[_Run, str, str, str | None], str]


def _bracket(act: _Act, kind: str, key: str) -> _Rule:
    """Return the rule of an event that opens, continues or closes something."""
    return lambda run, event: act(run, kind, event[key], event.get("subagentRunId"))


_MESSAGE = "messageId"
_RULES: dict[str, _Rule] = {
    "RUN_STARTED": _Run.accept,
    "RUN_FINISHED": _Run.end,
    "RUN_ERROR": _Run.end,
    "TEXT_MESSAGE_START": _bracket(_Run.open, "text", _MESSAGE),
    "TEXT_MESSAGE_CONTENT": _bracket(_Run.grow, "text", _MESSAGE),
    "TEXT_MESSAGE_END": _bracket(_Run.close, "text", _MESSAGE),
    "REASONING_START": _bracket(_Run.open, "reasoning", _MESSAGE),
    "REASONING_MESSAGE_START": _bracket(_Run.open, "reasoning message", _MESSAGE),
    "REASONING_MESSAGE_CONTENT": _bracket(_Run.grow, "reasoning message", _MESSAGE),
    "REASONING_MESSAGE_END": _bracket(_Run.close, "reasoning message", _MESSAGE),
    "REASONING_END": _bracket(_Run.close, "reasoning", _MESSAGE),
    "REASONING_ENCRYPTED_VALUE": _Run.sign,
    "TOOL_CALL_START": _bracket(_Run.open, "call", "toolCallId"),
    "TOOL_CALL_ARGS": _bracket(_Run.grow, "call", "toolCallId"),
    "TOOL_CALL_END": _bracket(_Run.close, "call", "toolCallId"),
    "TOOL_CALL_RESULT": _Run.answer,
    "STEP_STARTED": _Run.begin_step,
    "STEP_FINISHED": _Run.end_step,
    "SUBAGENT_STARTED": _Run.begin_subagent,
    "SUBAGENT_FINISHED": _Run.end_subagent,
    "SUBAGENT_ERROR": _Run.end_subagent,
    "STATE_SNAPSHOT": _Run.accept,
    "STATE_DELTA": _Run.accept,
    "ACTIVITY_SNAPSHOT": _Run.accept,
    "RAW": _Run.accept,
    "CUSTOM": _Run.accept,
}
