"""A server that speaks the AI SDK's protocol well, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from tests.features.conform.planted import (
    ABSENT,
    Frames,
    Planted,
    before,
    changed,
    put,
    where,
    without,
)
from tests.features.conform.stub_server import Asked, Handler, Json, Reply, as_stream, refused

DONE = "[DONE]"


def good() -> Handler:
    """Return a server that calls a tool, asks for an approval, and answers it."""
    numbers = count(1)

    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("/stream"):
            return Reply(204)
        wrong = refused(asked, "id", "messages")
        if wrong is not None:
            return wrong
        last = asked.json["messages"][-1]
        if last["role"] == "assistant":
            return stream(continued(last))
        text = last["parts"][-1]["text"]
        return stream(chunks(f"m{next(numbers)}", text))

    return answer


def stream(sent: Frames) -> Reply:
    return as_stream(*sent, x_vercel_ai_ui_message_stream="v1")


def chunks(message: str, text: str) -> Frames:
    """Return the answer to a text."""
    start: Json = {"type": "start", "messageId": message}
    finish = {"type": "finish", "finishReason": "stop", "messageMetadata": {}}
    if text == "approval":
        asks = {"type": "tool-approval-request", "approvalId": f"a-{message}"}
        call = made(f"c-{message}")
        body = [call, {**asks, "toolCallId": f"c-{message}"}]
        return [start, *step(*body), {**finish, "finishReason": "tool-calls"}, DONE]
    if text == "error":
        return [start, {"type": "error", "errorText": "It failed. Reference: 1."}, DONE]
    tool = [made(f"c-{message}"), output(f"c-{message}")]
    return [start, *step(*tool), *step(*said("t1", "Hello")), finish, DONE]


def step(*inside: Json) -> list[Json]:
    return [{"type": "start-step"}, *inside, {"type": "finish-step"}]


def said(id: str, text: str) -> list[Json]:
    delta = {"type": "text-delta", "id": id, "delta": text}
    return [{"type": "text-start", "id": id}, delta, {"type": "text-end", "id": id}]


def made(call: str) -> Json:
    return {"type": "tool-input-available", "toolCallId": call, "toolName": "look", "input": {}}


def output(call: str) -> Json:
    return {"type": "tool-output-available", "toolCallId": call, "output": {"ok": True}}


def continued(message: Json) -> Frames:
    """Return what follows a decision."""
    [part] = [each for each in message["parts"] if each["type"].startswith("tool-")]
    denied = {"type": "tool-output-denied", "toolCallId": part["toolCallId"]}
    outcome = output(part["toolCallId"]) if part["approval"]["approved"] else denied
    start = {"type": "start", "messageId": message["id"]}
    finish = {"type": "finish", "finishReason": "stop"}
    return [start, outcome, *step(*said("t1", "Done")), finish, DONE]


# ------------------------------------------------------------------ what can be wrong


def _last_is_assistant(asked: Asked) -> bool:
    body = asked.json
    return isinstance(body, dict) and body.get("messages", [{}])[-1].get("role") == "assistant"


def other_message(asked: Asked, reply: Reply) -> Reply:
    if not _last_is_assistant(asked):
        return reply
    return replace(reply, body=reply.body.replace(b'"messageId": "m', b'"messageId": "other-m'))


def undenied(asked: Asked, reply: Reply) -> Reply:
    if not _last_is_assistant(asked):
        return reply
    frames = reply.body.decode().split("\n\n")
    kept = [frame for frame in frames if "tool-output-denied" not in frame]
    return replace(reply, body="\n\n".join(kept).encode().replace(b'"stop"', b'"tool-calls"'))


ORDINARY = "tool-output-available", "text-start"
"""What the ordinary answer has, and no other."""
DATA = {"type": "data-x", "data": 1}

PLANTED = (
    Planted("chunk-type", put(ORDINARY, 2, {"type": "thought", "text": "hm"})),
    Planted("chunk-values", where("text-start", providerMetadata=None)),
    Planted("chunk-values", where("text-start", providerMetadata={"flat": "x"})),
    Planted("chunk-values", where("finish", finishReason="done"), also=("unanswered",)),
    Planted("chunk-values", put(ORDINARY, 2, {"type": "file", "url": "data:,"})),
    Planted("chunk-values", where("tool-output-available", dynamic="yes")),
    Planted("every-release", where("finish", usage={})),
    Planted("every-release", put(ORDINARY, 2, {"type": "custom", "kind": "a.b"})),
    Planted("json", put(ORDINARY, 2, "{")),
    Planted("json", put(ORDINARY, 2, '{"type": "data-x", "data": NaN}')),
    Planted("json", put(ORDINARY, 2, "1")),
    Planted("json-keys", where("tool-output-available", output={"a": [{"__proto__": {}}]})),
    Planted("json-keys", where("tool-input-available", input={"constructor": {"prototype": 1}})),
    Planted("start", put(ORDINARY, 2, {"type": "start", "messageId": "again"})),
    Planted("message-id", where("start", messageId=ABSENT)),
    Planted("message-id", put(ORDINARY, 0, DATA), also=("start",)),
    Planted("new-message-id", where("start", messageId="m1")),
    Planted("blocks", put(ORDINARY, 2, {"type": "text-delta", "id": "zz", "delta": "x"})),
    Planted("blocks", put(ORDINARY, 2, {"type": "reasoning-start", "id": "r"})),
    Planted("blocks", put(ORDINARY, 2, {"type": "text-end", "id": "zz"})),
    Planted("steps", put(ORDINARY, 1, {"type": "finish-step"})),
    Planted("steps", put(ORDINARY, 2, {"type": "start-step"})),
    Planted("calls", put(ORDINARY, 2, output("zz"))),
    Planted(
        "calls",
        put(ORDINARY, 2, {"type": "tool-input-delta", "toolCallId": "z", "inputTextDelta": ""}),
    ),
    Planted("calls", put(ORDINARY, 2, made("x"), made("x"), output("x"))),
    Planted(
        "approval-request",
        put(ORDINARY, 2, {"type": "tool-approval-request", "approvalId": "b", "toolCallId": "zz"}),
    ),
    Planted("unanswered", put(ORDINARY, 2, made("x"))),
    Planted("tool-loop", put(ORDINARY, -4, made("x"), output("x"))),
    Planted("after-end", put(ORDINARY, -2, {**DATA, "transient": True})),
    Planted("finish", without("finish", "error")),
    Planted("done", without(DONE)),
    Planted("done", put(ORDINARY, -1, DONE)),
    Planted("error-text", where("error", errorText='Traceback (most recent call last): File "/x"')),
    Planted("approval-answer", changed(other_message)),
    Planted("approval-answer", changed(undenied)),
    Planted(
        "history",
        before(lambda asked: Reply(422) if _turns(asked) == 3 else None),
    ),
    Planted(
        "resume",
        before(
            lambda asked: (
                as_stream({"type": "text-delta", "id": "t1", "delta": ""}, DONE)
                if asked.path.endswith("/stream")
                else None
            )
        ),
    ),
    Planted(
        "stream-header", changed(lambda _, reply: reply.having(x_vercel_ai_ui_message_stream=""))
    ),
)


def _turns(asked: Asked) -> int:
    body = asked.json
    return len(body.get("messages", ())) if isinstance(body, dict) else 0
