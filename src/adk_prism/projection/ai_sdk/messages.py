"""UI messages rebuilt from frames: what a client holds after it has read the stream.

A reducer in the manner of the SDK's own reader (ai 6 and 7), over the same frames that were streamed, so
a page that is loaded later shows what the open one shows. Used for the messages route. What was streamed and
then replaced is in the frames, and in a client that read them: `settled` leaves it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from adk_prism.projection.ai_sdk.frames import Done, Frame

Json = dict[str, Any]

REPLACED = "data-prism-replaced"


def rebuild(frames: Iterable[Frame]) -> Json:
    """Return the assistant's UI message that these frames build."""
    builder = _Builder()
    for frame in frames:
        if not isinstance(frame, Done):
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
        _TOOL[kind](part, chunk)

    def _new_tool(self, chunk: Json) -> Json:
        part: Json = {"type": f"tool-{chunk['toolName']}", "toolCallId": chunk["toolCallId"]}
        self._tools[chunk["toolCallId"]] = part
        self._parts.append(part)
        return part


def _input_start(part: Json, _: Json) -> None:
    part["state"] = "input-streaming"


def _input_delta(_part: Json, _: Json) -> None:
    """Nothing: no message is rebuilt while a call's input still grows."""


def _input_available(part: Json, chunk: Json) -> None:
    part["state"] = "input-available"
    part["input"] = chunk["input"]
    if "providerMetadata" in chunk:
        part["callProviderMetadata"] = chunk["providerMetadata"]
    if "providerExecuted" in chunk:
        part["providerExecuted"] = chunk["providerExecuted"]


def _approval_request(part: Json, chunk: Json) -> None:
    part["state"] = "approval-requested"
    part["approval"] = {"id": chunk["approvalId"]}
    if "reason" in chunk:
        part["approval"]["requestReason"] = chunk["reason"]


def _output_available(part: Json, chunk: Json) -> None:
    part["state"] = "output-available"
    part["output"] = chunk["output"]
    part.pop("errorText", None)


def _output_error(part: Json, chunk: Json) -> None:
    part["state"] = "output-error"
    part["errorText"] = chunk["errorText"]


def _output_denied(part: Json, _: Json) -> None:
    part["state"] = "output-denied"


_TOOL = {
    "tool-input-start": _input_start,
    "tool-input-delta": _input_delta,
    "tool-input-available": _input_available,
    "tool-approval-request": _approval_request,
    "tool-output-available": _output_available,
    "tool-output-error": _output_error,
    "tool-output-denied": _output_denied,
}


def _merge(into: Json, news: Json) -> None:
    """Merge as the client does: objects deeply, everything else replaced."""
    for key, value in news.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
