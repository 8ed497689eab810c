"""The AG-UI messages of a thread, as a client that opens it later gets them.

They are what a client builds from the events of all its runs, without text and calls that were taken back,
and with one thing more: the result of a call that failed or was denied has its `error`, which an event has
no field for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import structs

from adk_prism.log.entry import Entry, RunId, RunStarted
from adk_prism.protocols.ag_ui.frames import Frame, Json
from adk_prism.protocols.ag_ui.notices import REPLACED, completed
from adk_prism.protocols.ag_ui.projection import AgUiProjection
from adk_prism.protocols.ag_ui.requests import user_message
from adk_prism.protocols.contract import Complete, Options, Scope

# ---------------------------------------------------------------------------
# AG-UI messages rebuilt from events: what a client holds after it has read the stream.
#
# A reducer in the manner of the client's own (`defaultApplyEvents` of `@ag-ui/client` 0.0.59 and
# 1.0.0), over the same frames that were streamed: a page that is loaded later shows what the open one
# shows.


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

# ---------------------------------------------------------------------------


class ThreadMessages:
    """Builds the messages of a thread, run by run."""

    def __init__(self, options: Options, complete: Complete | None = None) -> None:
        self._options = options
        self._complete = complete
        self._messages = Messages()
        self._projection: AgUiProjection | None = None

    def user_message(self, message_id: str, head: RunStarted, time: float) -> None:
        """Add what the user sent to begin a turn."""
        del time  # a message of AG-UI has no date
        message = user_message(message_id, head, self._options.files)
        if message is not None:
            self._messages.add(message)

    def begin_run(self, scope: Scope) -> None:
        """Begin a run of the assistant's answer: whoever reads it was shown nothing before."""
        self._options = structs.replace(self._options, scope=structs.replace(scope, replayed=True))
        self._projection = None

    def begin_live_run(self, run: RunId) -> None:
        """Begin a live run, which holds messages of both sides."""
        del run
        self._projection = None

    def feed(self, entry: Entry) -> None:
        """Add an entry of the run that began last."""
        if self._projection is None:
            head = entry.record
            assert isinstance(head, RunStarted), "every run begins with this record"
            self._projection = AgUiProjection(self._options, head)
        for frame in self._projection.feed(entry):
            if self._complete is not None:
                frame = completed(frame, self._complete)
            self._messages.take(frame)

    def messages(self) -> list[Json]:
        """Return the messages, without those that are still being said."""
        return [_told(message) for message in settled(self._messages.messages(with_open=False))]


def _told(message: Json) -> Json:
    """Return a message with the error that its metadata tells of."""
    if message["role"] != "tool":
        return message
    error = message.get("metadata", {}).get("adk", {}).get("error")
    return {**message, "error": error} if error else message
