"""Ways to answer what a run asked: as each kind of client does it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.workflow import BaseNode
from tests.server.local_server import APP, SESSION, USER, LocalServer, local_server

Json = dict[str, Any]


@dataclass(frozen=True)
class Ground:
    """Where an app runs."""

    id: str
    resumable: bool
    stored: bool


GROUNDS = (
    Ground("memory", resumable=False, stored=False),
    Ground("memory, resumable", resumable=True, stored=False),
    Ground("sqlite", resumable=False, stored=True),
    Ground("sqlite, resumable", resumable=True, stored=True),
)


@asynccontextmanager
async def on(ground: Ground, root: BaseNode, folder: Path) -> AsyncIterator[LocalServer]:
    """Serve an app there."""
    service: BaseSessionService = InMemorySessionService()
    if ground.stored:
        service = DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/sessions.db")
    async with local_server(root, resumable=ground.resumable, service=service) as server:
        yield server
    if isinstance(service, DatabaseSessionService):
        await service.close()


# --------------------------------------------------------------------------- chat


async def chat(server: LocalServer, *messages: Json, **more: Any) -> httpx.Response:
    """Post messages to the chat."""
    body = {"id": SESSION, "messages": list(messages), "trigger": "submit-message", **more}
    return await server.client.post(f"/api/chat/{APP}", json=body)


def said(text: str, name: str = "") -> Json:
    """Return a user's message."""
    return {"id": name or f"u-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}


def answering(kind: str, data: Json, name: str = "answer") -> Json:
    """Return a user's message that answers with a data part."""
    return {"id": name, "role": "user", "parts": [{"type": f"data-{kind}-response", "data": data}]}


def chunks(answer: httpx.Response) -> list[Json]:
    """Return the chunks of a chat's stream."""
    assert answer.status_code == 200, answer.text
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def text_of(answer: httpx.Response) -> str:
    """Return the text that a chat's stream says."""
    return "".join(c["delta"] for c in chunks(answer) if c["type"] == "text-delta").strip()


def part_of(message: Json, tool: str) -> Json:
    """Return a message's part of a tool."""
    (found,) = [part for part in message["parts"] if part["type"] == f"tool-{tool}"]
    return dict(found)


def data_of(message: Json, name: str) -> list[Json]:
    """Return the data of a message's parts of a kind."""
    return [part["data"] for part in message["parts"] if part["type"] == f"data-{name}"]


def with_part(message: Json, part: Json, *more: Json) -> Json:
    """Return a message with a tool's part changed, and further parts."""
    parts = [
        part if old.get("toolCallId") == part["toolCallId"] else old for old in message["parts"]
    ]
    return {**message, "parts": [*parts, *more]}


def with_result(message: Json, tool: str, output: Any) -> Json:
    """Return a message in which a tool has another result."""
    return with_part(
        message, {**part_of(message, tool), "state": "output-available", "output": output}
    )


def decided(message: Json, tool: str, approved: bool, *more: Json) -> Json:
    """Return a message in which a call is decided."""
    part = part_of(message, tool)
    approval = {**part["approval"], "approved": approved}
    return with_part(message, {**part, "state": "approval-responded", "approval": approval}, *more)


async def asked(server: LocalServer, prompt: str) -> Json:
    """Say something in the chat; return the assistant's message."""
    assert (await chat(server, said(prompt))).status_code == 200
    return (await server.messages())[-1]


# --------------------------------------------------------------------------- the others


async def studio(server: LocalServer, *answers: Json) -> httpx.Response:
    """Answer as a Studio panel does."""
    body = {"session_id": SESSION, "answers": list(answers)}
    return await server.client.post(f"/api/studio/{APP}/stream", json=body)


async def adk(server: LocalServer, *responses: Json, route: str = "/run_sse") -> httpx.Response:
    """Answer as a client of ADK's routes does."""
    parts = [{"functionResponse": response} for response in responses]
    body = {"appName": APP, "userId": USER, "sessionId": SESSION}
    return await server.client.post(
        route, json={**body, "newMessage": {"role": "user", "parts": parts}}
    )


def confirmation(approval: str, confirmed: bool = True, **more: Any) -> Json:
    """Return a confirmation as ADK takes it."""
    response = {"confirmed": confirmed, **more}
    return {"id": approval, "name": "adk_request_confirmation", "response": response}


def roles(messages: Sequence[Json]) -> list[str]:
    return [message["role"] for message in messages]
