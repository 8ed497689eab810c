"""A budget that is used up, in every protocol: refused in the way in which the protocol says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.features.budgets.spending import Spending
from tests.patience import PATIENCE
from tests.server.local_server import APP, USER, LocalServer, agent, local_server
from tests.voice.served import Served, served
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

WORDS = "The budget of this user is used up: 0 runs a day."
Json = dict[str, Any]
TEXT = {"role": "user", "parts": [{"text": "hello"}]}
UI_MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
ADK = {"appName": APP, "userId": USER, "sessionId": "s", "newMessage": TEXT}
AG_UI = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "messages": [{"id": "m", "role": "user", "content": "hello"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}

REQUESTS: dict[str, tuple[str, Json]] = {
    "adk": ("/run", ADK),
    "adk, streamed": ("/run_sse", ADK | {"streaming": True}),
    "ai-sdk": (f"/api/chat/{APP}", {"id": "c", "messages": [UI_MESSAGE]}),
    "ag-ui": (f"/api/ag-ui/{APP}", AG_UI),
    "studio": (f"/api/studio/{APP}/stream", {"input": "hello", "session_id": "s"}),
    "openai chat": (
        "/v1/chat/completions",
        {"model": APP, "messages": [{"role": "user", "content": "hello"}]},
    ),
    "openai chat, streamed": (
        "/v1/chat/completions",
        {"model": APP, "stream": True, "messages": [{"role": "user", "content": "hello"}]},
    ),
    "openai responses": ("/v1/responses", {"model": APP, "input": "hello"}),
}


def detail_of(name: str, answer: httpx.Response) -> str:
    """Return the text of a refusal, where the protocol has it."""
    body = answer.json()
    if name.startswith("openai"):
        assert body["error"]["type"] == "rate_limit_error"
        return str(body["error"]["message"])
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["status"] == 429
    return str(body["detail"])


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_is_refused(name: str) -> None:
    """With 429, when to come back, and the budget; nothing is started, nothing is called."""
    model = Spending()
    async with local_server(agent(model), budget=("caller runs=0",)) as server:
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions/s")
        path, body = REQUESTS[name]
        answer = await server.client.post(path, json=body)
        assert answer.status_code == 429, answer.text
        assert 1 <= int(answer.headers["retry-after"]) <= 24 * 3600
        assert WORDS in detail_of(name, answer)
        assert not model.requests
        assert (await server.client.get("/api/runs")).json() == []
        metrics = (await server.client.get("/metrics")).text
        assert 'adk_prism_refusals_total{limit="budget_runs"} 1.0' in metrics


async def test_a_repeated_request_is_no_run() -> None:
    """The answer of the first one, however often it is sent."""
    async with local_server(agent(Spending()), budget=("caller runs=1",)) as server:
        for _ in range(3):
            answer = await server.client.post(
                f"/api/chat/{APP}",
                json={"id": "c", "messages": [UI_MESSAGE]},
                headers={"idempotency-key": "k"},
            )
            assert answer.status_code == 200, answer.text


async def test_a_fork_is_refused() -> None:
    """It is a run as well; and what the refused one made is taken away."""
    async with local_server(agent(Spending()), budget=("caller runs=1",)) as server:
        run = await server.say("hello")
        answer = await server.client.post(
            f"/api/runs/{run}/fork", json={"at": 2, "newMessage": TEXT}
        )
        assert answer.status_code == 429, answer.text
        assert len(await _sessions(server)) == 1


async def _sessions(server: LocalServer) -> list[Json]:
    answer = await server.client.get(f"/apps/{APP}/users/{USER}/sessions")
    found: list[Json] = answer.json()
    return found


# --------------------------------------------------------------------------- sockets


def _runner() -> Runner:
    return Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Spending()),
        session_service=InMemorySessionService(),
    )


Say = Callable[[Served], Any]


async def _read(server: Served, path: str, *messages: Json) -> tuple[list[str], int | None]:
    """Send messages over a socket; return what came back until the refusal, and how it closed."""
    received: list[str] = []
    async with connect(server.url.replace("http", "ws") + path, open_timeout=PATIENCE) as socket:
        try:
            for message in messages:
                await socket.send(json.dumps(message))
            while WORDS not in "".join(received):
                received.append(str(await socket.recv()))
        except ConnectionClosed:
            received.append(str(socket.close_reason))
        return received, socket.close_code


SOCKETS: dict[str, tuple[str, tuple[Json, ...]]] = {
    "chat socket": (
        "/api/chat/app/socket",
        ({"type": "send", "requestId": "r", "id": "c", "messages": [UI_MESSAGE]},),
    ),
    "live voice": (
        "/api/live/app?session=s1",
        ({"type": "message", "version": "1.0", "id": "s1", "messages": [UI_MESSAGE]},),
    ),
    "run_live": ("/run_live?app_name=app&user_id=user&session_id=s1&modalities=TEXT", ()),
}


@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
@pytest.mark.parametrize("name", SOCKETS)
async def test_a_socket_is_told(name: str) -> None:
    """In a frame of its protocol, or as it closes."""
    path, messages = SOCKETS[name]
    async with served(_runner(), budget=("caller runs=0",)) as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            await client.post("/apps/app/users/user/sessions/s1")
        received, _ = await _read(server, path, *messages)
        assert WORDS in "".join(received), received
