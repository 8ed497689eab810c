"""One run, watched at the same time in every protocol, whatever protocol began it: each stream is valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from tests.conformance.ag_ui import READERS as AG_UI_READERS
from tests.conformance.ag_ui import AgUiClient
from tests.conformance.conftest import ag_ui_client as ag_ui_client
from tests.conformance.judge import READERS as AI_SDK_READERS
from tests.conformance.judge import Judge
from tests.end_to_end.adk_client import client_of, open_gate
from tests.end_to_end.clients import new_id
from tests.end_to_end.server import Server
from tests.patience import PATIENCE

Json = dict[str, Any]

VIEWS = ("adk", "studio", *(f"ai-sdk/{d}" for d in "567"), "ag-ui/0.0.59", "ag-ui/1.0")


def chat_body(session: str, text: str) -> Json:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": session, "messages": [message], "trigger": "submit-message"}


def ag_ui_body(session: str, text: str) -> Json:
    message = {"id": "m1", "role": "user", "content": text}
    return {
        "threadId": session,
        "runId": new_id(),
        "messages": [message],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def adk_body(session: str, text: str) -> Json:
    content = {"role": "user", "parts": [{"text": text}]}
    ids = {"appName": "diary", "userId": "user", "sessionId": session}
    return {**ids, "newMessage": content, "streaming": True}


STARTS: dict[str, tuple[str, Any]] = {
    "adk": ("/run_sse", adk_body),
    "ai-sdk": ("/api/chat/diary", chat_body),
    "ag-ui": ("/api/ag-ui/diary", ag_ui_body),
    "studio": ("/api/studio/diary/stream", lambda s, text: {"input": text, "session_id": s}),
}


@asynccontextmanager
async def begun(http: httpx.AsyncClient, protocol: str, text: str) -> AsyncIterator[str]:
    """Begin a run in a protocol; yield its id, with the connection open."""
    path, body = STARTS[protocol]
    session = new_id()
    await http.post(f"/apps/diary/users/user/sessions/{session}")
    async with http.stream("POST", path, json=body(session, text)) as response:
        assert response.status_code == 200, await response.aread()
        yield response.headers["x-prism-run"]


async def watched(http: httpx.AsyncClient, run: str, view: str, begun: asyncio.Event) -> bytes:
    """Watch a run to its end; say when its first bytes were there."""
    name, _, dialect = view.partition("/")
    query = {"as": name, "dialect": dialect}
    pieces: list[bytes] = []
    async with http.stream("GET", f"/api/runs/{run}/stream", params=query) as response:
        assert response.status_code == 200
        async for piece in response.aiter_bytes():
            pieces.append(piece)
            begun.set()
    return b"".join(pieces)


async def seen_by_all(server: Server, protocol: str) -> dict[str, bytes]:
    """Return what every viewer was sent of a run that all of them saw going on."""
    gate = new_id().replace("-", "")
    async with (
        client_of(server) as http,
        begun(http, protocol, f"text before [{gate}] after") as run,
    ):
        there = {view: asyncio.Event() for view in VIEWS}
        tasks = {v: asyncio.create_task(watched(http, run, v, there[v])) for v in VIEWS}
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(event.wait() for event in there.values()))
            assert (await http.get(f"/api/runs/{run}")).json()["outcome"] is None
            await open_gate(server, gate)
            return {view: await task for view, task in tasks.items()}


@pytest.mark.parametrize("protocol", STARTS)
async def test_everybody_sees_the_same_run(
    server: Server, judge: Judge, ag_ui_client: AgUiClient, protocol: str
) -> None:
    """`useChat`, an AG-UI client, ADK's client and Studio, all live; their own code judges each stream."""
    seen = await seen_by_all(server, protocol)
    events = [Event.model_validate_json(data) for data in datas(seen["adk"])]
    said = [e for e in events if not e.partial and e.author == "diary" and e.content]
    text = "".join(part.text or "" for e in said for part in (e.content and e.content.parts) or ())
    assert "before" in text
    assert "after" in text
    for sdk, dialect in AI_SDK_READERS:
        verdict = judge(seen[f"ai-sdk/{dialect}"], sdk)
        assert verdict.ok, verdict.why
        assert words(verdict.message) == text
    for client, dialect in AG_UI_READERS:
        held = ag_ui_client([seen[f"ag-ui/{dialect}"]], client)
        assert held.faults == []
        assert held.messages[-1]["content"] == text
    traces = [json.loads(data) for data in datas(seen["studio"]) if data.startswith("{")]
    assert text in json.dumps(traces)


def datas(body: bytes) -> list[str]:
    lines = body.decode().split("\n")
    return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]


def words(message: Json | None) -> str:
    parts = (message or {})["parts"]
    return "".join(part["text"] for part in parts if part["type"] == "text")
