"""The UI messages of a conversation, as a page that is loaded later shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from msgspec import structs

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.transcripts import utterance_id
from adk_prism.log.entry import Entry, RunId, RunStarted, to_raw
from adk_prism.protocols.ai_sdk import frames as ai
from adk_prism.protocols.ai_sdk.frames import Frame, kept
from adk_prism.protocols.ai_sdk.projection import AiSdkProjection, LiveAiSdkProjection
from adk_prism.protocols.ai_sdk.requests import user_message, user_messages
from adk_prism.protocols.contract import Complete, Options, Scope

# ---------------------------------------------------------------------------
# UI messages rebuilt from frames: what a client holds after it has read the stream.
#
# A reducer in the manner of the SDK's own reader (ai 6 and 7), over the same frames that were
# streamed, so a page that is loaded later shows what the open one shows. Used for the messages route.
# What was streamed and then replaced is in the frames, and in a client that read them: `settled`
# leaves it out.


REPLACED = "data-prism-replaced"


def rebuild(frames: Iterable[Frame]) -> Json:
    """Return the assistant's UI message that these frames build."""
    builder = _Builder()
    for frame in frames:
        if not isinstance(frame, ai.Done):
            builder.take(msgspec.json.decode(msgspec.json.encode(frame)))
    return builder.message()


def settled(message: Json) -> Json:
    """Return a message without replaced parts, and without what was cut off.

    A page that is loaded later has no use for what ADK did not store.
    """
    gone = {
        block
        for part in message["parts"]
        if part["type"] == REPLACED
        for block in part["data"]["blocks"]
    }
    parts = [_settled(part) for part in message["parts"] if not _is_replaced(part, gone)]
    return message | {"parts": parts}


def _about(part: Json) -> Json:
    metadata = part.get("providerMetadata") or part.get("callProviderMetadata") or {}
    found: Json = metadata.get("prism") or {}
    return found


def _is_replaced(part: Json, gone: Collection[str]) -> bool:
    about = _about(part)
    return part["type"] == REPLACED or "replaced" in about or about.get("block") in gone


def _settled(part: Json) -> Json:
    """Return a part without what was only for the stream."""
    about = _about(part)
    if not about:
        return part
    others = {name: value for name, value in part["providerMetadata"].items() if name != "prism"}
    text = part["text"][: len(part["text"]) - about.get("trimmed", 0)]
    return part | {"text": text, "providerMetadata": others}


class _Builder:
    def __init__(self) -> None:
        self._id = ""
        self._parts: list[Json] = []
        self._metadata: Json = {}
        self._blocks: dict[str, Json] = {}
        self._tools: dict[str, Json] = {}

    def message(self) -> Json:
        return {
            "id": self._id,
            "role": "assistant",
            "metadata": self._metadata,
            "parts": self._parts,
        }

    def take(self, chunk: Json) -> None:
        kind: str = chunk["type"]
        if isinstance(chunk.get("messageMetadata"), dict):
            _merge(self._metadata, chunk["messageMetadata"])
        if kind.startswith("data-"):
            self._data(chunk)
        elif kind.startswith(("text-", "reasoning-")):
            block, _, step = kind.partition("-")
            self._block(block, step, chunk)
        elif kind.startswith("tool-"):
            self._tool(kind, chunk)
        elif kind == "start":
            self._id = chunk["messageId"]
        elif kind == "start-step":
            self._parts.append({"type": "step-start"})
        elif kind == "reset-step":
            self._reset()
        elif kind in ("source-url", "source-document", "file"):
            self._parts.append(chunk)

    def _reset(self) -> None:
        """Take back every part of the last step."""
        steps = [at for at, part in enumerate(self._parts) if part["type"] == "step-start"]
        del self._parts[steps[-1] + 1 :]
        kept = {part["toolCallId"] for part in self._parts if "toolCallId" in part}
        self._tools = {call: part for call, part in self._tools.items() if call in kept}

    def _data(self, chunk: Json) -> None:
        if chunk.get("transient"):
            return
        same = (p for p in self._parts if p["type"] == chunk["type"] and p.get("id") == chunk["id"])
        known = next(same, None) if "id" in chunk else None
        if known is not None:
            known["data"] = chunk["data"]
        else:
            self._parts.append(chunk)

    def _block(self, kind: str, step: str, chunk: Json) -> None:
        key = f"{kind} {chunk['id']}"
        if step == "start":
            part = self._blocks[key] = {"type": kind, "text": "", "state": "streaming"}
            self._parts.append(part)
        part = self._blocks[key]
        if step == "delta":
            part["text"] += chunk["delta"]
        if step == "end":
            part["state"] = "done"
        if "providerMetadata" in chunk:
            part["providerMetadata"] = chunk["providerMetadata"]

    def _tool(self, kind: str, chunk: Json) -> None:
        if kind == "tool-approval-response":
            asked = [p for p in self._tools.values() if "approval" in p]
            part = next(p for p in asked if p["approval"]["id"] == chunk["approvalId"])
            part["state"] = "approval-responded"
            part["approval"] |= {k: chunk[k] for k in ("approved", "reason") if k in chunk}
            return
        part = self._tools.get(chunk["toolCallId"]) or self._new_tool(chunk)
        if kind == "tool-input-delta":
            return  # no message is rebuilt while a call's input still grows
        part["state"], taken = _TOOL[kind]
        if kind == "tool-approval-request":
            part["approval"] = {"id": chunk["approvalId"]}
            part["approval"] |= {"requestReason": chunk["reason"]} if "reason" in chunk else {}
        elif kind == "tool-output-available":
            part.pop("errorText", None)
            part.pop("preliminary", None)
        elif part.pop("preliminary", None):
            part.pop("output")
        part |= {ours: chunk[theirs] for theirs, ours in taken.items() if theirs in chunk}

    def _new_tool(self, chunk: Json) -> Json:
        part: Json = {"type": f"tool-{chunk['toolName']}", "toolCallId": chunk["toolCallId"]}
        self._tools[chunk["toolCallId"]] = part
        self._parts.append(part)
        return part


_TOOL: dict[str, tuple[str, dict[str, str]]] = {
    "tool-input-start": ("input-streaming", {}),
    "tool-input-available": (
        "input-available",
        {
            "input": "input",
            "providerMetadata": "callProviderMetadata",
            "providerExecuted": "providerExecuted",
        },
    ),
    "tool-approval-request": ("approval-requested", {}),
    "tool-output-available": (
        "output-available",
        {"output": "output", "preliminary": "preliminary"},
    ),
    "tool-output-error": ("output-error", {"errorText": "errorText"}),
    "tool-output-denied": ("output-denied", {}),
}
"""The state of a call after each chunk, and what its part takes of the chunk: its key, and the part's."""


def _merge(into: Json, added: Json) -> None:
    """Merge as the client does: objects deeply, everything else replaced."""
    for key, value in added.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


# ---------------------------------------------------------------------------

Json = dict[str, Any]


class UiMessages:
    """Builds UI messages, turn by turn."""

    def __init__(self, options: Options, complete: Complete | None = None) -> None:
        self._dialect = kept(options.dialect)
        self._options = options
        self._complete = complete
        self._found: list[Json] = []
        self._run: _AssistantRun | _LiveRun | None = None

    def user_message(self, message_id: str, head: RunStarted, time: float) -> None:
        """Add what the user sent to begin a turn."""
        self._finish_run()
        self._found += user_messages(message_id, head, time, self._options.files)

    def begin_run(self, scope: Scope) -> None:
        """Begin a run of the assistant's answer; one that does not open a message continues the last."""
        frames = (
            self._run.frames if isinstance(self._run, _AssistantRun) and not scope.opens else []
        )
        if scope.opens:
            self._finish_run()
        self._run = _AssistantRun(
            AiSdkProjection(structs.replace(self._options, scope=scope), self._dialect), frames
        )

    def begin_live_run(self, run: RunId) -> None:
        """Begin a live run, which holds messages of both sides."""
        self._finish_run()
        self._run = _LiveRun(run, LiveAiSdkProjection(self._options, self._dialect))

    def feed(self, entry: Entry) -> None:
        """Add an entry of the run that began last."""
        assert self._run is not None, "a run begins before its entries are fed"
        self._run.feed(entry)

    def messages(self) -> list[Json]:
        """Return the messages."""
        self._finish_run()
        return self._found

    def _finish_run(self) -> None:
        if isinstance(self._run, _AssistantRun):
            frames = self._run.frames
            if self._complete is not None:
                frames = [ai.completed(frame, self._complete) for frame in frames]
            self._found.append(settled(rebuild(frames)))
        elif self._run is not None:
            # One that is still being said is left out: the client streams it.
            self._found += [message for message in self._run.messages if message]
        self._run = None


class _AssistantRun:
    """A run of an assistant's message."""

    def __init__(self, projection: AiSdkProjection, frames: list[Frame]) -> None:
        self._projection = projection
        self.frames = frames

    def feed(self, entry: Entry) -> None:
        self.frames += self._projection.feed(entry)


class _LiveRun:
    """The messages of a live run, in the order in which they began."""

    def __init__(self, run: RunId, projection: LiveAiSdkProjection) -> None:
        self._run = run
        self._projection = projection
        self._reader = Reader()
        self.messages: list[Json] = []
        self._heard: dict[str, Json] = {}
        self._frames: list[Frame] | None = None
        self._place = 0

    def feed(self, entry: Entry) -> None:
        for item in self._reader.feed(entry):
            self._hear(item, entry.time)
        for frame in self._projection.feed(entry):
            self._take(frame)

    def _hear(self, item: fact.Fact, time: float) -> None:
        """Take what the user says."""
        if isinstance(item, fact.UserSpoke):
            self._add(item.message, item.text, time)
        elif isinstance(item, fact.InputTranscribed):
            if item.utterance in self._heard:
                self._heard[item.utterance]["parts"][0]["text"] = item.text
            else:
                name = utterance_id(self._run, item.utterance)
                self._heard[item.utterance] = self._add(name, item.text, time)

    def _add(self, name: str, text: str, time: float) -> Json:
        message = user_message(name, to_raw({"parts": [{"text": text}]}), time)
        assert message is not None
        self.messages.append(message)
        return message

    def _take(self, frame: Frame) -> None:
        """Take what the assistant says, and what is known of it only afterwards."""
        if isinstance(frame, ai.Start):
            self._frames = []
            self.messages.append({})  # its place, while it is being said
            self._place = len(self.messages) - 1
        if self._frames is not None:
            self._frames.append(frame)
            if isinstance(frame, ai.Finish | ai.Error | ai.Abort):
                self.messages[self._place] = settled(rebuild(self._frames))
                self._frames = None
        elif isinstance(frame, ai.Data) and frame.type == "data-usage":
            self._amend(frame.data)

    def _amend(self, late: Json) -> None:
        """Add usage that came after its message."""
        found = next((m for m in self.messages if m.get("id") == late["messageId"]), None)
        if found is not None and not found["metadata"].get("usage"):
            found["metadata"]["usage"] = late["usage"]
