"""AG-UI messages rebuilt from events: what a client holds after it has read the stream.

A reducer in the manner of the client's own (`defaultApplyEvents` of `@ag-ui/client` 0.0.59 and 1.0.0), over
the same frames that were streamed: a page that is loaded later shows what the open one shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from adk_prism.projection.ag_ui.frames import Frame, Json
from adk_prism.projection.ag_ui.notices import REPLACED


class Messages:
    """The messages of a thread, as far as its events have been read."""

    def __init__(self) -> None:
        self._found: list[Json] = []
        self._by_id: dict[str, Json] = {}
        self._calls: dict[str, tuple[Json, Json]] = {}
        """Calls, each after the message that it is in."""
        self._open: set[str] = set()
        """Messages that are still being said."""

    def add(self, message: Json) -> Json:
        """Add a message; return it, or the one that has its id."""
        known = self._by_id.get(message["id"])
        if known is not None:
            return known
        self._found.append(message)
        self._by_id[message["id"]] = message
        return message

    def take(self, frame: Frame) -> None:
        """Read a frame."""
        event = msgspec.json.decode(msgspec.json.encode(frame))
        rule = _RULES.get(event["type"])
        if rule is not None:
            rule(self, event)

    def messages(self, *, with_open: bool = True) -> list[Json]:
        """Return the messages; on demand without those that are still being said."""
        if with_open:
            return self._found
        return [message for message in self._found if message["id"] not in self._open]

    # -------------------------------------------------------------- messages

    def start_run(self, event: Json) -> None:
        for message in event.get("input", {}).get("messages", ()):
            self.add(message)

    def start_text(self, event: Json) -> None:
        self._start(event, event["role"])

    def start_reasoning(self, event: Json) -> None:
        self._start(event, "reasoning")

    def _start(self, event: Json, role: str) -> None:
        message = {"id": event["messageId"], "role": role, "content": ""}
        _merge(self.add(message | _given(event, "name", "subagentRunId")), event)
        self._open.add(event["messageId"])

    def grow(self, event: Json) -> None:
        self._by_id[event["messageId"]]["content"] += event["delta"]

    def end(self, event: Json) -> None:
        _merge(self._by_id[event["messageId"]], event)
        self._open.discard(event["messageId"])

    def show(self, event: Json) -> None:
        """Add an activity, or put it in the place of what has its id."""
        message: Json = {"id": event["messageId"], "role": "activity"}
        message |= _given(event, "activityType", "content", "subagentRunId")
        known = self.add(message)
        if known is not message:
            before = known.get("metadata") if known["role"] == "activity" else None
            known.clear()
            known |= message | ({"metadata": before} if before else {})
        _merge(known, event)

    def sign(self, event: Json) -> None:
        name = event["entityId"]
        is_call = event["subtype"] == "tool-call"
        signed = self._calls[name][1] if is_call else self._by_id[name]
        signed["encryptedValue"] = event["encryptedValue"]

    # -------------------------------------------------------------- calls

    def start_call(self, event: Json) -> None:
        name = event["toolCallId"]
        if name not in self._calls:
            parent = {"id": event["parentMessageId"], "role": "assistant", "toolCalls": []}
            message = self.add(parent | _given(event, "subagentRunId"))
            made = {"name": event["toolCallName"], "arguments": ""}
            call = {"id": name, "type": "function", "function": made}
            message["toolCalls"].append(call)
            self._calls[name] = (message, call)
        _merge(self._calls[name][1], event)

    def grow_call(self, event: Json) -> None:
        self._calls[event["toolCallId"]][1]["function"]["arguments"] += event["delta"]

    def end_call(self, event: Json) -> None:
        _merge(self._calls[event["toolCallId"]][1], event)

    def answer(self, event: Json) -> None:
        """Add a result behind its call, after the results that are there."""
        message = {"id": event["messageId"], "role": "tool"}
        message |= _given(event, "toolCallId", "content", "subagentRunId")
        _merge(message, event)
        self._by_id[message["id"]] = message
        made = self._calls.get(event["toolCallId"])
        place = len(self._found)
        if made is not None:
            place = next(i for i, each in enumerate(self._found) if each is made[0]) + 1
            while place < len(self._found) and self._found[place]["role"] == "tool":
                place += 1
        self._found.insert(place, message)


def settled(messages: Iterable[Json]) -> list[Json]:
    """Return messages as they stand: without text and calls that ADK did not store.

    A page that is loaded later has no use for them.
    """
    found = list(messages)
    gone = {message["toolCallId"] for message in found if _status(message) == "withdrawn"}
    kept = (_without(message, gone) if gone else message for message in found)
    return [message for message in kept if not _is_empty(message, gone)]


def _status(message: Json) -> str:
    found: str = message.get("metadata", {}).get("adk", {}).get("status", "")
    return found if message["role"] == "tool" else ""


def _without(message: Json, calls: set[str]) -> Json:
    if "toolCalls" not in message:
        return message
    return {**message, "toolCalls": [c for c in message["toolCalls"] if c["id"] not in calls]}


def _is_empty(message: Json, calls: set[str]) -> bool:
    """Tell whether nothing is left of a message."""
    if message["role"] == "activity":
        return bool(message["activityType"] == REPLACED)
    return message.get("toolCallId") in calls or message.get("toolCalls") == []


def _given(event: Json, *keys: str) -> Json:
    return {key: event[key] for key in keys if key in event}


def _merge(target: Json, event: Json) -> None:
    """Fold an event's metadata into what it builds, key by key."""
    if "metadata" in event:
        target["metadata"] = {**target.get("metadata", {}), **event["metadata"]}


_RULES: dict[str, Callable[[Messages, Json], None]] = {
    "RUN_STARTED": Messages.start_run,
    "TEXT_MESSAGE_START": Messages.start_text,
    "TEXT_MESSAGE_CONTENT": Messages.grow,
    "TEXT_MESSAGE_END": Messages.end,
    "REASONING_MESSAGE_START": Messages.start_reasoning,
    "REASONING_MESSAGE_CONTENT": Messages.grow,
    "REASONING_MESSAGE_END": Messages.end,
    "REASONING_ENCRYPTED_VALUE": Messages.sign,
    "TOOL_CALL_START": Messages.start_call,
    "TOOL_CALL_ARGS": Messages.grow_call,
    "TOOL_CALL_END": Messages.end_call,
    "TOOL_CALL_RESULT": Messages.answer,
    "ACTIVITY_SNAPSHOT": Messages.show,
}
