"""A server that knows three people, one of whom owns everything there is to steal."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, LocalServer, agent, local_server

ANN, BOB, ROOT = "ann", "bob", "root"
TOKENS = {"token-of-ann": ANN, "token-of-bob": BOB}
ADMIN = "token-of-root"
SESSION = "chat"
SECRET = "the-secret-that-bob-told"
UPLOAD = "what-bob-sent.txt"

Json = dict[str, Any]


def headers(user: str) -> dict[str, str]:
    """Return what a person sends to be known."""
    return {"authorization": f"Bearer token-of-{user}"}


def token_file(folder: Path) -> str:
    """Write the people's tokens; return where."""
    file = folder / "tokens.json"
    admin = {ADMIN: {"user": ROOT, "scopes": ["admin"]}}
    file.write_text(json.dumps({**TOKENS, **admin}))
    return str(file)


@dataclass
class Belongings:
    """What Bob has on the server."""

    user: str
    session: str
    run: str
    file: int
    """Cursor of an event that holds a file."""
    link: str
    invocation: str
    event: str
    """Id of the last event, which a model wrote."""
    upload: str
    """Id of a file that he sent."""


@dataclass
class House:
    """A server with Bob's things on it."""

    stage: LocalServer
    bobs: Belongings

    @property
    def client(self) -> httpx.AsyncClient:
        return self.stage.client


def model() -> Scripted:
    """Return a model that leaves an artifact, a file and a text behind."""
    picture = types.Part(inline_data=types.Blob(data=b"\x89PNG bob", mime_type="image/png"))
    return Scripted.saying(call("note", "c1", text=SECRET), [picture, types.Part(text=SECRET)])


@asynccontextmanager
async def house(folder: Path, **settings: Any) -> AsyncIterator[House]:
    """Serve, and let Bob have a conversation."""
    settings = {"uploads_dir": str(folder / "uploads")} | settings
    async with local_server(agent(model()), tokens=token_file(folder), **settings) as stage:
        yield House(stage, await _move_in(stage))


async def _move_in(stage: LocalServer) -> Belongings:
    client, bob = stage.client, headers(BOB)
    sessions = f"/apps/{APP}/users/{BOB}/sessions"
    answer = await client.post(f"{sessions}/{SESSION}", headers=bob, json={"mine": SECRET})
    assert answer.status_code == 200, answer.text
    answer = await client.post("/run_sse", headers=bob, json=said(BOB, SECRET))
    assert answer.status_code == 200, answer.text
    run = answer.headers["x-prism-run"]
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    events = list(map(json.loads, lines))
    link = await client.post(f"/api/runs/{run}/links", headers=bob)
    assert link.status_code == 201, link.text
    return Belongings(
        user=BOB,
        session=SESSION,
        run=run,
        file=await _cursor_of_file(stage, run),
        link=link.json()["id"],
        invocation=events[0]["invocationId"],
        event=events[-1]["id"],
        upload=await _sent_file(client, bob),
    )


async def _sent_file(client: httpx.AsyncClient, bob: dict[str, str]) -> str:
    form = {"file": (UPLOAD, SECRET.encode(), "text/plain")}
    answer = await client.post("/v1/files", headers=bob, files=form)
    assert answer.status_code == 200, answer.text
    name: str = answer.json()["id"]
    return name


async def _cursor_of_file(stage: LocalServer, run: str) -> int:
    found = [
        e
        for e in await stage.entries(run)
        if b"inlineData" in bytes(getattr(e.record, "event", b""))
    ]
    return found[-1].cursor


def said(user: str, text: str, session: str = SESSION) -> Json:
    """Return the body of a run request of ADK's."""
    message = {"role": "user", "parts": [{"text": text}]}
    where = {"appName": APP, "userId": user, "sessionId": session}
    return {**where, "newMessage": message}
