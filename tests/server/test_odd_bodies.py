"""Bodies in which one value is not what it should be: refused or ignored, never an error of the server.

The bodies of most protocols are read leniently, so OpenAPI says nothing about their insides and Schemathesis
never looks there. Each body here has everything that a client can send; each value in it, at any depth, is
replaced in turn by each of `ODD`, and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, LocalServer, agent, local_server

Json = dict[str, Any]
Place = tuple[str | int, ...]

ODD: tuple[Any, ...] = (
    *(None, True, -1, 1.5, 10**30, "", "x", "\ud800", "y" * 5000),
    *(
        [],
        {},
        [None],
        [1],
        ["x"],
        [[]],
        [{}],
        [{"type": "x"}],
        {"a": None},
        {"id": []},
        {"x": "\0"},
    ),
)
LEFT_OUT = object()

PNG = "data:image/png;base64,iVBORw0KGgo="

UI_PARTS: list[Json] = [
    {"type": "text", "text": "hello"},
    {"type": "file", "mediaType": "image/png", "url": PNG, "filename": "a.png"},
    {"type": "data-rewound", "data": {"messageIds": ["m0"]}},
    {"type": "data-confirmation-response", "data": {"approvalId": "a", "payload": {"x": 1}}},
]
UI_ANSWER: Json = {
    "id": "m1",
    "role": "assistant",
    "metadata": {"usage": {}},
    "parts": [
        {"type": "step-start"},
        {"type": "text", "text": "hi", "state": "done"},
        {
            "type": "tool-count",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {},
            "output": {"count": 1},
        },
        {
            "type": "dynamic-tool",
            "toolName": "note",
            "toolCallId": "c2",
            "state": "approval-responded",
            "input": {"text": "x"},
            "approval": {"id": "a1", "approved": True, "reason": "fine"},
        },
    ],
}
UI_CHAT: Json = {
    "id": "chat",
    "userId": "user",
    "messages": [
        {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "first"}]},
        UI_ANSWER,
        {"id": "m2", "role": "user", "parts": UI_PARTS},
    ],
    "trigger": "submit-message",
    "messageId": "m2",
    "parentId": "m1",
    "stateDelta": {"mine": 1},
    "tools": {"locate": {"description": "where", "inputSchema": {"type": "object"}}},
}
AG_UI: Json = {
    "threadId": "chat",
    "runId": "r1",
    "parentRunId": "r0",
    "state": {"mine": 1},
    "messages": [
        {"id": "m0", "role": "system", "content": "be kind"},
        {"id": "m1", "role": "user", "content": "first"},
        {
            "id": "m2",
            "role": "assistant",
            "content": "hi",
            "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
            ],
        },
        {"id": "m3", "role": "tool", "toolCallId": "c1", "content": "{}", "error": "no"},
        {
            "id": "m4",
            "role": "user",
            "content": [
                {"type": "text", "text": "hello"},
                {"type": "binary", "mimeType": "image/png", "data": "aGk=", "url": PNG, "id": "f"},
                {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "x/y"}},
            ],
        },
    ],
    "tools": [{"name": "locate", "description": "where", "parameters": {"type": "object"}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": {"command": {"resume": {"x": 1}, "interruptEvent": {"x": 1}}},
    "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
}
ADK_RUN: Json = {
    "appName": APP,
    "userId": "user",
    "sessionId": "chat",
    "newMessage": {
        "role": "user",
        "parts": [
            {"text": "hello"},
            {"inlineData": {"mimeType": "image/png", "data": "aGk=", "displayName": "a"}},
            {"functionResponse": {"id": "c1", "name": "count", "response": {"count": 1}}},
        ],
    },
    "streaming": True,
    "stateDelta": {"mine": 1},
    "invocationId": "",
}
FUNCTION: Json = {"name": "locate", "description": "where", "parameters": {"type": "object"}}
COMPLETION: Json = {
    "model": APP,
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "user",
    "n": 1,
    "modalities": ["text"],
    "metadata": {"session_id": "chat"},
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "approvals": [{"id": "a", "approved": True, "reason": "fine"}],
    "tools": [{"type": "function", "function": FUNCTION}],
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "first"},
        {
            "role": "assistant",
            "content": "hi",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "1"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hello"},
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
                {"type": "file", "file": {"file_data": PNG, "filename": "a.png", "file_id": "f"}},
            ],
        },
    ],
}
RESPONSE: Json = {
    "model": APP,
    "stream": True,
    "background": False,
    "user": "user",
    "instructions": "be kind",
    "previous_response_id": "",
    "conversation": {"id": "chat"},
    "metadata": {"topic": "x"},
    "include": ["reasoning"],
    "tools": [{"type": "function", **FUNCTION}],
    "input": [
        {"role": "user", "content": "first"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hi"}],
        },
        {"type": "function_call", "call_id": "c1", "name": "count", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "hello"},
                {"type": "input_image", "image_url": PNG, "detail": "low"},
                {"type": "input_file", "file_data": PNG, "filename": "a.png"},
            ],
        },
    ],
}
STUDIO: Json = {
    "input": "hello",
    "session_id": "chat",
    "user_id": "user",
    "state": {"mine": 1},
    "answers": [{"id": "c1", "approved": True, "reason": "", "value": {"x": 1}}],
}
ARTIFACT: Json = {
    "filename": "new.txt",
    "artifact": {"text": "new", "inlineData": {"mimeType": "x/y", "data": "aGk="}},
    "customMetadata": {"x": 1},
}
SESSIONS = f"/apps/{APP}/users/user/sessions"

BODIES: dict[str, Json] = {
    f"POST {SESSIONS}": {"sessionId": "new", "state": {"x": 1}, "events": [{"author": "user"}]},
    f"POST {SESSIONS}/another": {"x": {"y": [1]}},
    f"PATCH {SESSIONS}/chat": {"stateDelta": {"x": {"y": 1}}},
    f"POST {SESSIONS}/chat/rewind": {"invocationId": "e-1"},
    f"POST {SESSIONS}/chat/artifacts": ARTIFACT,
    "POST /run": ADK_RUN,
    "POST /run_sse": ADK_RUN,
    f"POST /api/chat/{APP}": UI_CHAT,
    f"PATCH /api/chat/{APP}/chat": {"title": "Mine", "pinned": True},
    f"POST /api/chat/{APP}/chat/stop": {"x": 1},
    f"POST /api/studio/{APP}/stream": STUDIO,
    f"POST /api/ag-ui/{APP}": AG_UI,
    f"POST /api/ag-ui/{APP}/connect": AG_UI,
    f"POST /api/ag-ui/{APP}/chat/stop": {"x": 1},
    "POST /api/copilotkit": {
        "method": "agent/run",
        "params": {"agentId": APP, "threadId": "chat"},
        "body": AG_UI,
    },
    f"POST /api/copilotkit/agent/{APP}/run": AG_UI,
    "POST /v1/chat/completions": COMPLETION,
    "POST /v1/responses": RESPONSE,
    "POST /v1/conversations": {"metadata": {"x": "y"}, "items": [{"role": "user", "content": "x"}]},
    "POST /api/tickets": {"url": "/api/runs/run-1/stream"},
    "POST /api/runs/{run}/fork": {
        "at": 2,
        "stateDelta": {"x": 1},
        "newMessage": {"role": "user", "parts": [{"text": "x"}]},
    },
    "POST /api/runs/{run}/feedback": {"messageId": "m", "score": 1, "comment": "fine"},
    "POST /api/runs/{run}/links": {"expiresIn": 60},
}


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yield the place of every value in a body, outermost first."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, key))


def replaced(body: Json, place: Place, value: Any) -> Json:
    """Return a copy of a body with another value in one place, or without one."""
    copy = deepcopy(body)
    at: Any = copy
    for key in place[:-1]:
        at = at[key]
    if value is LEFT_OUT:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return copy


async def refusals(server: LocalServer, route: str, run: str) -> list[str]:
    """Send every odd body to a route; return those that were errors of the server."""
    method, _, path = route.partition(" ")
    wrong = []
    for number, place in enumerate(places(BODIES[route])):
        for odd in (LEFT_OUT, *ODD):
            body = json.dumps(replaced(BODIES[route], place, odd))
            body = body.replace('"chat"', f'"chat-{number}"')  # no conversation gets long
            answer = await server.client.request(
                method, path.format(run=run), content=body, headers=JSON_TYPE
            )
            if answer.status_code >= 500:
                shown = "left out" if odd is LEFT_OUT else repr(odd)[:40]
                where = ".".join(map(str, place))
                wrong.append(f"{where} = {shown}: {answer.status_code} {answer.text[:120]}")
    return wrong


JSON_TYPE = {"content-type": "application/json"}


@pytest.mark.parametrize("route", BODIES)
async def test_an_odd_value_is_no_error_of_the_server(route: str) -> None:
    """Whatever stands where, the answer is below 500, and nothing is reported but a busy machine."""
    model = Scripted.saying(call("count", "c1"), "done")
    async with local_server(agent(model)) as server:
        run = await server.say("first")
        assert await refusals(server, route, run) == []
        assert {each.kind for each in server.reports} <= {"event loop blocked"}
