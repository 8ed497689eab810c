"""Which state keys a client may write: the app declares them, and every route that takes state asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.server.local_server import SETTINGS

from adk_prism import accept_client_state
from adk_prism.prism import Prism

WORDS = {"role": "user", "parts": [{"text": "Hi"}]}
CHAT = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
WHERE = {"appName": "app", "userId": "user", "sessionId": "chat"}
SESSION = "/apps/app/users/user/sessions/chat"


@asynccontextmanager
async def serving(*keys: str) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an app that lets clients write some keys, with a session that has had a run."""
    root = LlmAgent(name="agent", model=Scripted.saying("Hello.", "Hello.", "Hello."))
    app = App(name="app", root_agent=root, plugins=[accept_client_state(*keys)])
    runner = Runner(app=app, session_service=InMemorySessionService())
    prism = Prism({"app": runner}, SETTINGS)
    transport = httpx.ASGITransport(prism.asgi())
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=transport,
            base_url="http://127.0.0.1:8000",
            headers={"accept": "application/json"},
        ) as client,
    ):
        await client.post(SESSION)
        yield client


async def run(client: httpx.AsyncClient) -> str:
    """Let the agent run once; return the run."""
    answer = await client.post("/run_sse", json={**WHERE, "newMessage": WORDS})
    return str(answer.headers["x-prism-run"])


ROUTES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "patch": ("PATCH", SESSION, {}),
    "run": ("POST", "/run", {**WHERE, "newMessage": WORDS}),
    "run_sse": ("POST", "/run_sse", {**WHERE, "newMessage": WORDS}),
    "state only": ("POST", "/run", {**WHERE, "newMessage": {"role": "system", "parts": []}}),
    "state only, streamed": (
        "POST",
        "/run_sse",
        {**WHERE, "newMessage": {"role": "system", "parts": []}},
    ),
    "chat": ("POST", "/api/chat/app", {"id": "chat", "messages": [CHAT]}),
    "fork": ("POST", "/api/runs/{run}/fork", {"at": 1, "newMessage": WORDS}),
}


@pytest.mark.parametrize("name", ROUTES)
async def test_only_declared_keys_are_taken(name: str) -> None:
    """Another key is refused with the keys there are, and nothing has changed; a declared one is taken."""
    method, path, body = ROUTES[name]
    async with serving("panel:answer") as client:
        path = path.format(run=await run(client)) if "{run}" in path else path
        before = (await client.get(SESSION)).json()
        for odd in ({"other": 1}, {"panel:answer": 1, "panel:answers": 2}, {"user:x": 1}):
            refused = await client.request(method, path, json={**body, "stateDelta": odd})
            assert refused.status_code == 403, refused.text
            assert refused.headers["content-type"] == "application/problem+json"
            assert "panel:answer" in refused.json()["detail"]
            assert (await client.get(SESSION)).json() == before
        taken = await client.request(method, path, json={**body, "stateDelta": {"panel:answer": 1}})
        assert taken.status_code == 200, taken.text
        session = taken.json()["session"] if name == "fork" else "chat"
        state = (await client.get(f"/apps/app/users/user/sessions/{session}")).json()["state"]
        assert state["panel:answer"] == 1


@pytest.mark.parametrize("with_id", [True, False])
async def test_a_new_session_keeps_to_it_too(with_id: bool) -> None:
    """Else the first state could be anything."""
    async with serving("panel:answer") as client:
        for state, status in (({"other": 1}, 403), ({"panel:answer": 1}, 200)):
            path, body = "/apps/app/users/user/sessions", {"state": state}
            if with_id:
                path, body = f"{path}/new{status}", state
            assert (await client.post(path, json=body)).status_code == status


async def test_an_app_may_take_nothing_at_all() -> None:
    """No key declared is a declaration as well."""
    async with serving() as client:
        refused = await client.patch(SESSION, json={"stateDelta": {"x": 1}})
        assert refused.status_code == 403
        assert "none" in refused.json()["detail"]
