"""Checks of a UI message stream: each chunk by its schema, and the order of chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adk_prism.features.conform.check import (
    BOOLEAN,
    LIST,
    STRING,
    Check,
    Sheet,
    TypeRule,
    missing_keys,
    named,
    wrong_types,
)
from adk_prism.features.conform.stream_checks import ERROR_TEXT, Item, check_error_text
from adk_prism.features.fields.inventory import Release, accepted, read_releases

# ---------------------------------------------------------------------- chunks
#
# The chunks of the AI SDK's UI message stream: types, keys and values, as npm's `ai` reads them.

PROTOCOL = "https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol"
SCHEMA = "npm package ai, uiMessageChunkSchema"

CHUNK_CHECKS = (
    Check("json", "The data of every frame is one JSON object, or [DONE].", PROTOCOL),
    Check(
        "json-keys", "No key is __proto__, and no constructor holds a prototype.", "npm package ai"
    ),
    Check("chunk-type", "Every chunk has a type that a release of the AI SDK knows.", SCHEMA),
    Check(
        "chunk-values",
        "Every chunk has the keys that its type requires, and an absent value is left out, not null.",
        SCHEMA,
    ),
    Check(
        "every-release",
        "A chunk has only types and keys that every release since 6.0.0 accepts.",
        "uiMessageChunkSchema of ai 6.0.0, which refuses any other key",
        "should",
    ),
)


def _is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())


_STRINGS = """id delta messageId toolCallId toolName inputTextDelta errorText approvalId sourceId url
    mediaType title filename reason kind""".split()
_BOOLEANS = "dynamic providerExecuted preliminary transient approved isAutomatic".split()
_TYPES: dict[str, TypeRule] = {
    **dict.fromkeys(_STRINGS, STRING),
    **dict.fromkeys(_BOOLEANS, BOOLEAN),
    "providerMetadata": ("an object of objects", _is_metadata),
    "parts": LIST,
}


class ChunkSchema:
    """Checks one chunk at a time."""

    def __init__(self) -> None:
        # Of releases before 6 the chunks have fewer keys; what they accept, later ones do.
        releases = tuple(each for each in read_releases() if not each.sdk.startswith("ai-5"))
        self._oldest, self._newest = releases[0], releases[-1]
        self._known = accepted(releases)
        self._reasons = {reason for each in releases for reason in each.finish_reasons}

    def check(self, sheet: Sheet, item: Item) -> bool:
        """Note what is wrong with a chunk; return whether it has what its order is judged by."""
        sheet.expect("json-keys", not _has_forbidden(item.value), item.event.data, item.at)
        kind = _kind(item.value)
        if not sheet.expect("chunk-type", kind in self._known, item.event.data, item.at):
            return False
        wrong = [*self._wrong_values(kind, item.value)]
        said = f"{'; '.join(wrong)}: {item.event.data}"
        sheet.expect("chunk-values", not wrong, said, item.at)
        narrow = self._beyond(kind, item.value)
        sheet.expect("every-release", not narrow, f"{narrow}: {item.event.data}", item.at)
        return not any(missing_keys(item.value, self._required(kind)))

    def _required(self, kind: str) -> tuple[str, ...]:
        return (self._newest.chunks.get(kind) or self._oldest.chunks[kind]).required

    def _wrong_values(self, kind: str, chunk: dict[str, Any]) -> list[str]:
        wrong = [*missing_keys(chunk, self._required(kind)), *wrong_types(chunk, _TYPES)]
        reason = chunk.get("finishReason", "stop")
        if kind == "finish" and not (isinstance(reason, str) and reason in self._reasons):
            wrong.append(f"finishReason must be one of {', '.join(sorted(self._reasons))}")
        return wrong

    def _beyond(self, kind: str, chunk: dict[str, Any]) -> str:
        """Return what the oldest release does not accept."""
        release: Release = self._oldest
        if kind not in release.chunks:
            return f"ai {release.version} does not know this type"
        extra = sorted(chunk.keys() - {"type", *release.chunks[kind].names})
        return f"ai {release.version} does not accept {', '.join(extra)}" if extra else ""


def _kind(chunk: dict[str, Any]) -> str:
    kind = chunk.get("type")
    if not isinstance(kind, str):
        return ""
    return "data-*" if kind.startswith("data-") else kind


def _has_forbidden(value: Any) -> bool:
    waiting = [value]  # not recursive: a server decides how deep it is
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            holder = each.get("constructor")
            if "__proto__" in each or (isinstance(holder, dict) and "prototype" in holder):
                return True
            waiting += each.values()
    return False


# ---------------------------------------------------------------------- order
#
# The order of chunks in one message of the AI SDK, as its clients need it.
#
# Less strict than `testing/grammars/ai_sdk.py`, which is about our own streams: what a client survives is
# advice here.

Chunk = dict[str, Any]

READER = "npm package ai, processUIMessageStream"
ORDER_CHECKS = (
    Check("start", "A message starts once.", READER),
    Check(
        "message-id",
        "`start` comes first and has a messageId; without it each client invents its own.",
        PROTOCOL,
        "should",
    ),
    Check(
        "blocks",
        "A text or reasoning block is opened before it grows and closed before the message finishes.",
        READER,
    ),
    Check(
        "steps",
        "Steps are not nested, and each is finished; what a model says is inside one.",
        PROTOCOL,
        "should",
    ),
    Check(
        "calls",
        "The input of a tool call is sent once, and only a call that was made is answered.",
        READER,
    ),
    Check("approval-request", "An approval is asked for a call that was made and waits.", READER),
    Check(
        "unanswered",
        "A message that finishes with calls without output has finishReason tool-calls.",
        "npm package ai, lastAssistantMessageIsCompleteWithToolCalls",
        "should",
    ),
    Check(
        "tool-loop",
        "After the outputs of the server's own tools another step follows; without it clients that send "
        "automatically post again, for ever.",
        "npm package ai, lastAssistantMessageIsCompleteWithToolCalls",
        "should",
    ),
    Check("after-end", "Nothing but [DONE] follows finish, abort or error.", PROTOCOL),
    Check(
        "finish",
        "A message ends with finish, abort or error; without one a crash looks like success.",
        PROTOCOL,
        "should",
    ),
    Check("done", "The stream ends with [DONE], once.", PROTOCOL),
    ERROR_TEXT,
)

ENDS = ("finish", "error", "abort")
_CONTENT = frozenset(
    """text-start reasoning-start tool-input-start tool-input-available tool-input-error source-url
    source-document file""".split()
)


class Call(Struct):
    """One tool call of a message."""

    step: int
    state: str
    """`streaming`, `made`, `asked` or `answered`."""
    by_provider: bool = False


class Message:
    """One message, as far as it has been read."""

    def __init__(self, sheet: Sheet, calls: tuple[str, ...] = ()) -> None:
        """`calls` were made in the part of the message that came before."""
        self.id = ""
        self.ended = ""
        self.approvals: dict[str, str] = {}
        """Approval → call."""
        self.calls = {call: Call(0, "made") for call in calls}
        self.inputs: dict[str, tuple[str, Any]] = {}
        """Call → the tool's name and input."""
        self.texts: dict[str, str] = {}
        self._sheet = sheet
        self._blocks: set[tuple[str, str]] = set()
        self._step, self._steps = 0, 0
        self._is_first = True
        self._at = ""

    def take(self, item: Item) -> None:
        """Take the next chunk; note what is wrong with it."""
        chunk, self._at = item.value, item.at
        kind = str(chunk["type"])
        self._check_place(kind, chunk)
        if kind in _CONTENT:
            self._sheet.expect("steps", self._step > 0, f"{kind} outside a step", self._at)
        rule = _RULES.get(kind)
        if rule is not None:
            rule(self, chunk)
        self._is_first = False

    def finish(self, done: int, is_last: bool) -> None:
        """Check the end of the stream: how often `[DONE]` came, and whether it was last."""
        self._at = "the end"
        said = f"[DONE] came {done} times" if done != 1 else "something follows [DONE]"
        self._sheet.expect("done", done == 1 and is_last, said)
        self._sheet.expect("finish", bool(self.ended), "no finish, abort or error")

    def _fault(self, check: str, came: str) -> None:
        self._sheet.fault(check, came, self._at)

    def _check_place(self, kind: str, chunk: Chunk) -> None:
        if self._is_first:
            good = kind == "start" and bool(chunk.get("messageId"))
            self._sheet.expect(
                "message-id",
                good,
                f"the first chunk is {kind}, messageId {named(chunk.get('messageId'))}",
                self._at,
            )
        elif kind == "start":
            self._fault("start", "a second start")
        self._sheet.expect(
            "after-end",
            not self.ended or _may_follow(self.ended, kind),
            f"{kind} after {self.ended}",
            self._at,
        )

    # -------------------------------------------------------------- message and steps

    def _begin(self, chunk: Chunk) -> None:
        self._sheet.seen("start")
        self.id = self.id or str(chunk.get("messageId", ""))

    def _begin_step(self, _: Chunk) -> None:
        self._sheet.expect("steps", not self._step, "a step inside a step", self._at)
        self._steps += 1
        self._step = self._steps

    def _end_step(self, _: Chunk) -> None:
        self._sheet.expect("steps", self._step > 0, "finish-step outside a step", self._at)
        self._close_blocks("finish-step")
        self._step = 0

    def _reset_step(self, _: Chunk) -> None:
        self._blocks.clear()
        self.calls = {id: call for id, call in self.calls.items() if call.step != self._step}

    def _close_blocks(self, where: str) -> None:
        left = ", ".join(sorted(f"{kind} {name}" for kind, name in self._blocks))
        if left:
            self._fault("blocks", f"{left} still open at {where}")
        self._blocks.clear()

    def _end(self, chunk: Chunk) -> None:
        self.ended = self.ended or str(chunk["type"])
        if chunk["type"] != "finish":
            return  # The SDK's own server leaves open what was open.
        self._close_blocks("finish")
        self._sheet.expect("steps", not self._step, "finish inside a step", self._at)
        self._check_calls(chunk.get("finishReason"))

    def _check_calls(self, reason: Any) -> None:
        for id, call in self.calls.items():
            if call.state == "streaming":
                self._fault("calls", f"the input of {id} never ended")
        waiting = [id for id, call in self.calls.items() if call.state in ("made", "asked")]
        if self.calls:
            good = not waiting or reason in ("tool-calls", None)
            self._sheet.expect(
                "unanswered", good, f"{waiting[:3]} at finishReason {reason}", self._at
            )
        own = [call for call in self.calls.values() if not call.by_provider and call.step]
        if own and not waiting:
            last = max(call.step for call in own)
            self._sheet.expect(
                "tool-loop", last < self._steps, "the last step holds an answered call", self._at
            )

    def _fail(self, chunk: Chunk) -> None:
        check_error_text(self._sheet, str(chunk.get("errorText", "")), self._at)
        if chunk["type"] == "error":
            self._end(chunk)

    # -------------------------------------------------------------- blocks

    def _block(self, chunk: Chunk) -> None:
        kind, _, act = str(chunk["type"]).partition("-")
        block = (kind, str(chunk["id"]))
        is_open = block in self._blocks
        wanted = act != "start"
        word = "is not open" if wanted else "is open already"
        self._sheet.expect("blocks", is_open == wanted, f"{kind} {chunk['id']} {word}", self._at)
        if act == "start":
            self._blocks.add(block)
        elif act == "end":
            self._blocks.discard(block)
        elif kind == "text":
            self.texts[block[1]] = self.texts.get(block[1], "") + str(chunk["delta"])

    # -------------------------------------------------------------- calls

    def _begin_input(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        self._sheet.expect("calls", id not in self.calls, f"{id} was made before", self._at)
        self.calls[id] = Call(self._step, "streaming", chunk.get("providerExecuted") is True)

    def _grow_input(self, chunk: Chunk) -> None:
        call = self.calls.get(str(chunk["toolCallId"]))
        good = call is not None and call.state == "streaming"
        said = f"tool-input-delta of {chunk['toolCallId']}, which does not stream"
        self._sheet.expect("calls", good, said, self._at)

    def _end_input(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        call = self.calls.get(id)
        good = call is None or call.state == "streaming"
        self._sheet.expect("calls", good, f"{id} was made before", self._at)
        self.inputs[id] = (str(chunk["toolName"]), chunk["input"])
        is_failed = chunk["type"] == "tool-input-error"
        by_provider = chunk.get("providerExecuted") is True
        self.calls[id] = Call(self._step, "answered" if is_failed else "made", by_provider)

    def _answer(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        call = self.calls.get(id)
        if self._sheet.expect("calls", call is not None, f"{id} was never made", self._at):
            assert call is not None
            good = call.state != "streaming"
            self._sheet.expect("calls", good, f"{id} is answered before its input", self._at)
            call.state = "made" if chunk.get("preliminary") is True else "answered"
        if "errorText" in chunk:
            self._fail(chunk)

    def _ask(self, chunk: Chunk) -> None:
        id, approval = str(chunk["toolCallId"]), str(chunk["approvalId"])
        call = self.calls.get(id)
        good = call is not None and call.state == "made" and approval not in self.approvals
        state = "unknown" if call is None else call.state
        self._sheet.expect("approval-request", good, f"{approval} for {id}, {state}", self._at)
        self.approvals[approval] = id
        if call is not None:
            call.state = "asked"


def _may_follow(end: str, kind: str) -> bool:
    return end == "abort" and kind in ("finish-step", "finish")


_RULES: dict[str, Callable[[Message, Chunk], None]] = {
    "start": Message._begin,
    "start-step": Message._begin_step,
    "finish-step": Message._end_step,
    "reset-step": Message._reset_step,
    "finish": Message._end,
    "abort": Message._end,
    "error": Message._fail,
    **{
        f"{kind}-{act}": Message._block
        for kind in ("text", "reasoning")
        for act in ("start", "delta", "end")
    },
    "tool-input-start": Message._begin_input,
    "tool-input-delta": Message._grow_input,
    "tool-input-available": Message._end_input,
    "tool-input-error": Message._end_input,
    **{f"tool-output-{end}": Message._answer for end in ("available", "error", "denied")},
    "tool-approval-request": Message._ask,
}
