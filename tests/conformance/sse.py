"""Builds UI message streams by hand, for the tests of the harness itself."""

from __future__ import annotations

import json
from typing import Any

Chunk = dict[str, Any]
Message = dict[str, Any]
DONE = "data: [DONE]\n\n"


def chunk(type: str, /, **fields: Any) -> Chunk:
    """One chunk; the keyword arguments are its fields."""
    return {"type": type, **fields}


def sse(*chunks: Chunk) -> str:
    """The chunks as a response body, with the terminator."""
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + DONE


def message(
    *steps: list[Chunk], reason: str | None = "stop", message_id: str | None = "m1"
) -> list[Chunk]:
    """A message whose steps hold the given chunks; `finish` has metadata, as ours always has."""
    inside = [c for step in steps for c in (chunk("start-step"), *step, chunk("finish-step"))]
    finish = chunk("finish", finishReason=reason, messageMetadata={"usage": {}})
    return [chunk("start", messageId=message_id), *inside, finish]


def text(value: str = "Hello!", block: str = "t1") -> list[Chunk]:
    """A whole text block."""
    return [
        chunk("text-start", id=block),
        chunk("text-delta", id=block, delta=value),
        chunk("text-end", id=block),
    ]


def call(call_id: str = "c1", tool: str = "rm", **fields: Any) -> Chunk:
    """A tool call with its input."""
    return chunk(
        "tool-input-available",
        toolCallId=call_id,
        toolName=tool,
        input={"path": "/tmp/x"},
        **fields,
    )


def output(call_id: str = "c1", value: Any = "done", **fields: Any) -> Chunk:
    """A tool's result."""
    return chunk("tool-output-available", toolCallId=call_id, output=value, **fields)


def approval(call_id: str = "c1", approval_id: str = "a1") -> Chunk:
    """The question whether a call may run."""
    return chunk("tool-approval-request", approvalId=approval_id, toolCallId=call_id)


def prior(*parts: Message) -> Message:
    """The assistant message `m1`, as the client sends it back."""
    return {"id": "m1", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}


def decided(approved: bool, **fields: Any) -> Message:
    """The call `c1`, with a person's answer."""
    answer = {"id": "a1", "approved": approved, **fields}
    return tool_part("approval-responded", approval=answer)


def tool_part(state: str, call_id: str = "c1", **fields: Any) -> Message:
    """A tool part of the client's message."""
    part = {"type": "tool-rm", "toolCallId": call_id, "state": state, "input": {"path": "/tmp/x"}}
    return {**part, **fields}


DENIED = chunk("tool-output-denied", toolCallId="c1")
FAILED = chunk("tool-output-error", toolCallId="c1", errorText="no such file")
INPUT_START = chunk("tool-input-start", toolCallId="c1", toolName="rm")
INPUT_DELTA = chunk("tool-input-delta", toolCallId="c1", inputTextDelta='{"path":"/tmp/x"}')
START = chunk("start", messageId="m1")
STEP = chunk("start-step")
STEP_END = chunk("finish-step")
FINISH = chunk("finish", finishReason="stop", messageMetadata={"usage": {}})
TEXT_START, TEXT_DELTA, TEXT_END = text()
ERROR = chunk("error", errorText="It failed (reference 7).")
SIGNATURE = {"google": {"thoughtSignature": "x"}}
