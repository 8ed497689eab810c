"""The events of AG-UI: types, keys and values, as the npm package `@ag-ui/core` reads them."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.conform.check import Check, Sheet
from adk_prism.conform.stream_checks import Item
from adk_prism.conform.value_types import (
    BOOLEAN,
    LIST,
    OBJECT,
    STRING,
    WHOLE,
    TypeRule,
    missing_keys,
    wrong_types,
)
from adk_prism.fieldcheck.ai_sdk_inventory import Keys

PROTOCOL = "https://docs.ag-ui.com/concepts/events"
SCHEMA = "npm package @ag-ui/core, EventSchemas"

CHECKS = (
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


class Release(Struct, frozen=True):
    """The events of one release."""

    version: str
    events: dict[str, Keys]


def read_releases() -> tuple[Release, ...]:
    """Return the releases, the oldest first."""
    kept = files("adk_prism.fieldcheck").joinpath("ag_ui_events.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[Release, ...])


class EventSchema:
    """Checks one event at a time."""

    def __init__(self) -> None:
        releases = read_releases()
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
