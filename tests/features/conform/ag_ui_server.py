"""A server that speaks AG-UI well, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

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
from tests.features.conform.stub_server import (
    Asked,
    Handler,
    Json,
    Reply,
    as_json,
    as_stream,
    refused,
)


def good() -> Handler:
    """Return a server that calls a tool, asks for an approval, and goes on after the answer."""
    numbers = count(1)

    def answer(asked: Asked) -> Reply:
        wrong = refused(asked, "threadId", "runId", "messages")
        if wrong is not None:
            return wrong
        body = asked.json
        names = {"threadId": body["threadId"], "runId": body["runId"]}
        text = "resumed" if "resume" in body else body["messages"][-1]["content"]
        return as_stream(*events(names, text, next(numbers)))

    return answer


def events(names: Json, text: str, number: int) -> Frames:
    """Return the run that answers a text."""
    start, finish = event("RUN_STARTED", **names), event("RUN_FINISHED", **names)
    if text == "error":
        return [start, event("RUN_ERROR", message="It failed. Reference: 1.")]
    if text == "approval":
        asked = {"id": "i1", "reason": "tool_call", "toolCallId": "c1"}
        outcome = {"type": "interrupt", "interrupts": [asked]}
        return [start, *call("c1"), {**finish, "outcome": outcome}]
    if text == "resumed":
        return [start, result("c1"), *said(f"m{number}"), finish]
    inside = [*said(f"m{number}"), *thought(f"r{number}"), *call("c1"), result("c1"), *state()]
    return [start, *subagent(*step(*inside)), finish]


def event(kind: str, **values: Any) -> Json:
    return {"type": kind, **values}


def said(message: str) -> list[Json]:
    return [
        event("TEXT_MESSAGE_START", messageId=message, role="assistant"),
        event("TEXT_MESSAGE_CONTENT", messageId=message, delta="Hello"),
        event("TEXT_MESSAGE_END", messageId=message),
    ]


def thought(message: str) -> list[Json]:
    return [
        event("REASONING_START", messageId=message),
        event("REASONING_MESSAGE_START", messageId=message, role="reasoning"),
        event("REASONING_MESSAGE_CONTENT", messageId=message, delta="hm"),
        event("REASONING_MESSAGE_END", messageId=message),
        event("REASONING_END", messageId=message),
    ]


def call(id: str) -> list[Json]:
    return [
        event("TOOL_CALL_START", toolCallId=id, toolCallName="look"),
        event("TOOL_CALL_ARGS", toolCallId=id, delta='{"at": '),
        event("TOOL_CALL_ARGS", toolCallId=id, delta="1}"),
        event("TOOL_CALL_END", toolCallId=id),
    ]


def result(id: str) -> Json:
    return event("TOOL_CALL_RESULT", messageId=f"{id}-r", toolCallId=id, content="1", role="tool")


def state() -> list[Json]:
    delta = [{"op": "add", "path": "/a", "value": 1}]
    return [event("STATE_SNAPSHOT", snapshot={}), event("STATE_DELTA", delta=delta)]


def step(*inside: Json) -> list[Json]:
    return [
        event("STEP_STARTED", stepName="one"),
        *inside,
        event("STEP_FINISHED", stepName="one"),
    ]


def subagent(*inside: Json) -> list[Json]:
    start = event("SUBAGENT_STARTED", subagentRunId="s1", name="helper")
    return [start, *inside, event("SUBAGENT_FINISHED", subagentRunId="s1")]


ORDINARY = ("STEP_STARTED",)

PLANTED = (
    Planted("json", put(ORDINARY, 2, "[DONE]")),
    Planted("event-type", put(ORDINARY, 2, event("THOUGHT"))),
    Planted("event-values", where("TOOL_CALL_RESULT", messageId=ABSENT)),
    Planted("event-values", where("TEXT_MESSAGE_START", timestamp=1.5)),
    Planted("event-values", where("TEXT_MESSAGE_START", name=None)),
    Planted("event-values", where("RUN_FINISHED", outcome=None)),
    Planted("roles", where("TEXT_MESSAGE_START", role="bot")),
    Planted(
        "roles", put(ORDINARY, 2, event("MESSAGES_SNAPSHOT", messages=[{"id": "1", "role": "bot"}]))
    ),
    Planted("state-delta", where("STATE_DELTA", delta=[{"op": "set", "path": "/a"}])),
    Planted("state-delta", where("STATE_DELTA", delta=[{"op": "add", "path": "a", "value": 1}])),
    Planted("both-releases", where("TOOL_CALL_RESULT", content=[{"type": "text", "text": "1"}])),
    Planted("run-started", without("RUN_STARTED")),
    Planted(
        "run-started",
        put(ORDINARY, 2, event("RUN_STARTED", threadId="t", runId="r")),
        also=("run-ids",),
    ),
    Planted("run-ids", where("RUN_STARTED", runId="other")),
    Planted("messages", without("TEXT_MESSAGE_START")),
    Planted("messages", without("TEXT_MESSAGE_END")),
    Planted("messages", put(("RUN_ERROR",), 1, *said("x")[:2], *said("x"))),
    Planted("reasoning", without("REASONING_MESSAGE_END")),
    Planted("reasoning", without("REASONING_START")),
    Planted("calls", put(ORDINARY, 2, event("TOOL_CALL_ARGS", toolCallId="z", delta="{}"))),
    Planted("calls", without("TOOL_CALL_END")),
    Planted("call-arguments", put(ORDINARY, 2, *call("x")[:2], call("x")[3])),
    Planted("results", put(ORDINARY, 2, result("zz"))),
    Planted("steps", without("STEP_FINISHED")),
    Planted("steps", put(ORDINARY, 3, event("STEP_STARTED", stepName="one"))),
    Planted("sub-agents", without("SUBAGENT_FINISHED")),
    Planted("run-ended", without("RUN_FINISHED")),
    Planted("run-ended", put(ORDINARY, -1, event("CUSTOM", name="x", value=1))),
    Planted(
        "interrupts",
        where("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": []}),
    ),
    Planted("error-text", where("RUN_ERROR", message="/usr/lib/site-packages/x.py failed")),
    Planted("new-message-ids", changed(lambda _, reply: _same_ids(reply))),
    Planted("line-ends", changed(lambda _, reply: _crlf(reply))),
    Planted("second-run", before(lambda asked: Reply(409) if _turns(asked) == 2 else None)),
    Planted(
        "resume-interrupt",
        before(lambda asked: as_json({}, 422) if b'"resume"' in asked.body else None),
    ),
)


def _same_ids(reply: Reply) -> Reply:
    body = reply.body
    for number in range(1, 20):
        body = body.replace(b'"m%d"' % number, b'"m"')
    return replace(reply, body=body)


def _crlf(reply: Reply) -> Reply:
    return replace(reply, body=reply.body.replace(b"\n", b"\r\n"))


def _turns(asked: Asked) -> int:
    body = asked.json
    return len(body.get("messages", ())) if isinstance(body, dict) else 0
