"""Checks of an AG-UI stream: each event by its schema, and the order of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from adk_prism.features.conform.check import (
    BOOLEAN,
    LIST,
    OBJECT,
    STRING,
    WHOLE,
    Check,
    Sheet,
    TypeRule,
    missing_keys,
    wrong_types,
)
from adk_prism.features.conform.stream_checks import ERROR_TEXT, Item, check_error_text, read_json
from adk_prism.features.fields.inventory import Keys, read_ag_ui_releases

# ---------------------------------------------------------------------- events
#
# The events of AG-UI: types, keys and values, as the npm package `@ag-ui/core` reads them.

PROTOCOL = "https://docs.ag-ui.com/concepts/events"
SCHEMA = "npm package @ag-ui/core, EventSchemas"

EVENT_CHECKS = (
    Check("json", "The data of every frame is one JSON object.", PROTOCOL),
    Check("event-type", "Every event has a type that the protocol knows.", SCHEMA),
    Check(
        "event-values",
        "Every event has the keys that its type requires, and an absent value is left out, not null.",
        SCHEMA,
    ),
    Check(
        "roles",
        "The role of a message is one of the protocol's.",
        "https://docs.ag-ui.com/concepts/messages",
    ),
    Check(
        "state-delta",
        "STATE_DELTA and ACTIVITY_DELTA hold the operations of a JSON Patch.",
        "RFC 6902, section 4",
    ),
    Check(
        "both-releases",
        "An event is one that the clients 0.0.59 and 1.0 both accept.",
        "@ag-ui/core 0.0.59, which CopilotKit and assistant-ui use",
        "should",
    ),
)

_STRINGS = """messageId threadId runId toolCallId toolCallName parentMessageId stepName name activityType
    message code subtype entityId encryptedValue source subagentRunId parentRunId parentSubagentRunId
    parentToolCallId description role""".split()
_TYPES: dict[str, TypeRule] = {
    **dict.fromkeys(_STRINGS, STRING),
    "timestamp": WHOLE,
    "replace": BOOLEAN,
    "metadata": OBJECT,
    "messages": LIST,
    "patch": LIST,
    "outcome": OBJECT,
    "usage": LIST,
}
_OWN: dict[str, dict[str, TypeRule]] = {
    **{
        f"{kind}_{end}": {"delta": STRING}
        for kind in ("TEXT_MESSAGE", "REASONING_MESSAGE", "THINKING_TEXT_MESSAGE", "TOOL_CALL")
        for end in ("CONTENT", "CHUNK", "ARGS")
    },
    "STATE_DELTA": {"delta": LIST},
    "ACTIVITY_SNAPSHOT": {"content": OBJECT},
    "TOOL_CALL_RESULT": {
        "content": ("a string or a list", lambda value: isinstance(value, str | list))
    },
}
_ROLES: dict[str, tuple[str, ...]] = {
    "TEXT_MESSAGE_START": ("developer", "system", "assistant", "user"),
    "TEXT_MESSAGE_CHUNK": ("developer", "system", "assistant", "user"),
    "REASONING_MESSAGE_START": ("reasoning", "assistant"),
    "TOOL_CALL_RESULT": ("tool",),
}
_MESSAGE_ROLES = ("developer", "system", "assistant", "user", "tool", "activity", "reasoning")
_OPERATIONS = {
    "add": ("value",),
    "replace": ("value",),
    "test": ("value",),
    "remove": (),
    "move": ("from",),
    "copy": ("from",),
}


class EventSchema:
    """Checks one event at a time."""

    def __init__(self) -> None:
        releases = read_ag_ui_releases()
        self._oldest = releases[0]
        self._known: dict[str, Keys] = {}
        for release in releases:
            self._known |= release.events

    def check(self, sheet: Sheet, item: Item) -> bool:
        """Note what is wrong with an event; return whether it has what its order is judged by."""
        event = item.value
        kind = event.get("type")
        known = isinstance(kind, str) and kind in self._known
        if not sheet.expect("event-type", known, item.event.data, item.at):
            return False
        types = _TYPES | _OWN.get(kind, {})
        wrong = [*missing_keys(event, self._known[kind].required), *wrong_types(event, types)]
        said = f"{'; '.join(wrong)}: {item.event.data}"
        is_good = sheet.expect("event-values", not wrong, said, item.at)
        _check_roles(sheet, item, kind)
        if kind in ("STATE_DELTA", "ACTIVITY_DELTA") and is_good:
            _check_patch(sheet, item, event["delta" if kind == "STATE_DELTA" else "patch"])
        is_usable = not any(missing_keys(event, self._known[kind].required))
        narrow = self._beyond(kind, event)
        sheet.expect("both-releases", not narrow, f"{narrow}: {item.event.data}", item.at)
        return is_usable

    def _beyond(self, kind: str, event: dict[str, Any]) -> str:
        """Return what the oldest release refuses; keys that it does not know it drops."""
        version = self._oldest.version
        if kind not in self._oldest.events:
            return f"{version} does not know {kind}"
        outcome = event.get("outcome")
        if isinstance(outcome, dict) and outcome.get("type") == "cancelled":
            return f"{version} does not know the outcome cancelled"
        if kind == "TOOL_CALL_RESULT" and not isinstance(event.get("content"), str):
            return f"{version} takes the content of a result as a string only"
        return ""


def _check_roles(sheet: Sheet, item: Item, kind: str) -> None:
    event = item.value
    if kind == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
        roles = [each.get("role") if isinstance(each, dict) else each for each in event["messages"]]
        wrong = [role for role in roles if role not in _MESSAGE_ROLES]
        sheet.expect("roles", not wrong, f"{wrong[:3]} in MESSAGES_SNAPSHOT", item.at)
    elif kind in _ROLES and "role" in event:
        good = event["role"] in _ROLES[kind]
        sheet.expect("roles", good, f"{event['role']!r} in {kind}", item.at)


def _check_patch(sheet: Sheet, item: Item, operations: list[Any]) -> None:
    sheet.seen("state-delta")
    for each in operations:
        if not _is_operation(each):
            sheet.fault("state-delta", msgspec.json.encode(each).decode(), item.at)


def _is_operation(each: Any) -> bool:
    if not isinstance(each, dict) or each.get("op") not in _OPERATIONS:
        return False
    path = each.get("path")
    return (
        isinstance(path, str)
        and path[:1] in ("", "/")
        and all(key in each for key in _OPERATIONS[each["op"]])
    )


# ---------------------------------------------------------------------- order
#
# The order of events in one run of AG-UI: what `verifyEvents` of the npm package `@ag-ui/client` accepts.

Event = dict[str, Any]

VERIFY = "npm package @ag-ui/client, verifyEvents"
ORDER_CHECKS = (
    Check("run-started", "The first event, and no other, is RUN_STARTED.", VERIFY),
    Check(
        "run-ids",
        "RUN_STARTED and RUN_FINISHED name the threadId and runId of the request.",
        "https://docs.ag-ui.com/sdk/js/core/types#runagentinput",
        "should",
    ),
    Check(
        "messages",
        "A text message is opened before it grows and closed before the run ends.",
        VERIFY,
    ),
    Check(
        "reasoning", "Reasoning is opened before it grows and closed before the run ends.", VERIFY
    ),
    Check("calls", "A tool call is opened before it grows and closed before the run ends.", VERIFY),
    Check("call-arguments", "The arguments of a call, put together, are JSON.", PROTOCOL),
    Check("results", "A result belongs to a call that was made.", PROTOCOL, "should"),
    Check("steps", "A step is started before it is finished, and finished before the run.", VERIFY),
    Check("sub-agents", "A sub-agent is started once, and finished before the run.", VERIFY),
    Check(
        "run-ended",
        "The last event is RUN_FINISHED or RUN_ERROR, and nothing follows it.",
        "https://docs.ag-ui.com/concepts/events#lifecycle-events",
    ),
    Check(
        "interrupts",
        "An interrupt has an id and a reason, and a run that waits names at least one.",
        "https://docs.ag-ui.com/concepts/interrupts",
    ),
    ERROR_TEXT,
)

ENDS = ("RUN_FINISHED", "RUN_ERROR")

_PAIRS: dict[str, tuple[str, str, str, str]] = {
    # event: (check, kind of thing, key, act)
    **{
        f"{name}_{act}": (check, name, key, act.lower())
        for check, name, key in (
            ("messages", "TEXT_MESSAGE", "messageId"),
            ("reasoning", "REASONING_MESSAGE", "messageId"),
            ("calls", "TOOL_CALL", "toolCallId"),
        )
        for act in ("START", "CONTENT", "ARGS", "END")
    },
    "REASONING_START": ("reasoning", "REASONING", "messageId", "start"),
    "REASONING_END": ("reasoning", "REASONING", "messageId", "end"),
    "STEP_STARTED": ("steps", "STEP", "stepName", "start"),
    "STEP_FINISHED": ("steps", "STEP", "stepName", "end"),
    "SUBAGENT_STARTED": ("sub-agents", "SUBAGENT", "subagentRunId", "start"),
    "SUBAGENT_FINISHED": ("sub-agents", "SUBAGENT", "subagentRunId", "end"),
    "SUBAGENT_ERROR": ("sub-agents", "SUBAGENT", "subagentRunId", "end"),
}


class Run:
    """One run, as far as it has been read."""

    def __init__(self, sheet: Sheet, thread: str, run: str, calls: Iterable[str] = ()) -> None:
        """`calls` were made in earlier runs of the thread."""
        self.ended = ""
        self.interrupts: list[Event] = []
        self.message_ids: set[str] = set()
        self._sheet = sheet
        self._ids = {"threadId": thread, "runId": run}
        self._is_first = True
        self._open: dict[tuple[str, str, str], str] = {}
        """Kind, id and owner of what is open → its check."""
        self.calls: dict[str, str] = dict.fromkeys(calls, "")
        """Call → its arguments so far."""
        self._at = ""

    def take(self, item: Item) -> None:
        """Take the next event; note what is wrong with it."""
        event, self._at = item.value, item.at
        kind = str(event["type"])
        self._check_place(kind)
        if kind in _PAIRS:
            self._pair(kind, event)
        if kind in ("RUN_STARTED", "RUN_FINISHED"):
            found = {key: event.get(key) for key in self._ids}
            self._sheet.expect("run-ids", found == self._ids, f"{kind} names {found}", self._at)
        if kind == "TOOL_CALL_RESULT":
            call = str(event["toolCallId"])
            self._sheet.expect("results", call in self.calls, f"{call} was not made", self._at)
        if kind in ENDS:
            self._end(kind, event)

    def finish(self) -> None:
        """Check the end of the stream."""
        self._sheet.expect("run-ended", bool(self.ended), "the stream ends without it")

    def _check_place(self, kind: str) -> None:
        if self._is_first:
            good = kind in ("RUN_STARTED", "RUN_ERROR")
            self._sheet.expect("run-started", good, f"the first event is {kind}", self._at)
        else:
            good = kind != "RUN_STARTED"
            self._sheet.expect("run-started", good, "a second RUN_STARTED", self._at)
        self._is_first = False
        good = not self.ended
        self._sheet.expect("run-ended", good, f"{kind} after {self.ended}", self._at)

    def _pair(self, kind: str, event: Event) -> None:
        check, thing, key, act = _PAIRS[kind]
        name, owner = str(event[key]), str(event.get("subagentRunId", ""))
        place = (thing, name, owner if thing == "STEP" else "")
        is_open = place in self._open
        if act == "start":
            said = f"{kind}: {name} is open already"
            self._sheet.expect(check, not is_open, said, self._at)
            self._open[place] = check
            if thing == "TEXT_MESSAGE":
                self.message_ids.add(name)
        else:
            self._sheet.expect(check, is_open, f"{kind}: {name} is not open", self._at)
        if thing == "TOOL_CALL":
            self._argue(name, act, event)
        if act == "end":
            self._open.pop(place, None)

    def _argue(self, call: str, act: str, event: Event) -> None:
        if act == "start":
            self.calls[call] = ""
        elif act == "args":
            self.calls[call] = self.calls.get(call, "") + str(event["delta"])
        else:
            text = self.calls.get(call, "")
            good = not text or text.strip() == "null" or read_json(text) is not None
            self._sheet.expect("call-arguments", good, f"{call}: {text}", self._at)

    def _end(self, kind: str, event: Event) -> None:
        self.ended = self.ended or kind
        if kind == "RUN_ERROR":
            check_error_text(self._sheet, str(event["message"]), self._at)
            return  # The client takes an error with anything open.
        for (thing, name, _), check in self._open.items():
            self._sheet.fault(check, f"{thing} {name} is still open", self._at)
        outcome = event.get("outcome")
        if isinstance(outcome, dict) and outcome.get("type") == "interrupt":
            self._ask(outcome.get("interrupts"))

    def _ask(self, interrupts: Any) -> None:
        found = interrupts if isinstance(interrupts, list) else []
        self.interrupts = [each for each in found if _is_interrupt(each)]
        good = bool(found) and len(found) == len(self.interrupts)
        self._sheet.expect(
            "interrupts", good, f"{len(found)}, of them good {len(self.interrupts)}", self._at
        )


def _is_interrupt(each: Any) -> bool:
    return isinstance(each, dict) and all(
        isinstance(each.get(key), str) and each[key] for key in ("id", "reason")
    )
