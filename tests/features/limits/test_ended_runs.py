"""A run that a limit has ended says so: to its client in every protocol, and to the operator."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, headers, token_file
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served
from websockets.asyncio.client import connect

from adk_prism.models import say

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

CODE = "run_time_limit"
Json = dict[str, Any]

MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
SAID: Json = {"appName": "app", "userId": "user", "sessionId": "adk", "streaming": True}
SAID |= {"newMessage": {"role": "user", "parts": [{"text": "hello"}]}}


@asynccontextmanager
async def serving(**limits: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve an agent that never ends."""
    endless = [asyncio.Event() for _ in range(9)]
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Scripted.saying(*endless)),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner, **limits) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


def payloads(answer: httpx.Response) -> list[Json]:
    """Return the JSON of a stream's frames."""
    lines = answer.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def test_every_protocol_names_the_limit() -> None:
    """A typed end with the operator's reference; what had been said before stays."""
    async with serving(limit_run_time=0.3) as (server, client):
        await client.post("/apps/app/users/user/sessions/adk")
        adk = payloads(await client.post("/run_sse", json=SAID))[-1]
        chat = await client.post("/api/chat/app", json={"id": "chat", "messages": [MESSAGE]})
        studio = payloads(await client.post("/api/studio/app/stream", json={"input": "hello"}))[-1]
        url = server.url.replace("http", "ws") + "/api/chat/app/socket"
        async with connect(url, open_timeout=PATIENCE) as socket:
            frame = {"type": "send", "requestId": "r", "id": "two", "messages": [MESSAGE]}
            await socket.send(json.dumps(frame))
            told = ""
            while '"end"' not in told:
                told += str(await socket.recv())
        runs = (await client.get("/api/runs")).json()
    texts = [adk["errorMessage"], payloads(chat)[-1]["errorText"], studio["correlation"], told]
    assert adk["errorCode"] == studio["code"] == CODE
    assert f"The run failed ({CODE})." in told
    assert {run["outcome"] for run in runs} == {"failed"}
    stops = [report for report in server.reports if report.kind == "run stopped"]
    assert [(stop.detail, stop.app) for stop in stops] == [(CODE, "app")] * 4
    for stop, text in zip(stops, texts, strict=True):
        assert stop.correlation in text


async def test_a_live_run_names_the_limit() -> None:
    """Before its socket is closed."""
    runner = runner_of(scripted_agent(lambda _: say("Well."), []))
    async with served(runner, limit_run_time=0.5) as server, server.live() as client:
        await client.say("hello")
        code, _ = await client.closed()
    assert code == 1011
    (error,) = client.chunks("error")
    assert re.fullmatch(
        rf"The run failed \({CODE}\)\. Reference: [0-9a-f]{{12}}\.", error["errorText"]
    )
    assert [report.kind for report in server.reports] == ["run stopped"]


async def test_what_is_stopped_by_a_person_was_cancelled() -> None:
    """No limit, no failure, nothing for the operator."""
    async with serving(limit_run_time=60) as (server, client):
        asking = client.stream("POST", "/api/chat/app", json={"id": "chat", "messages": [MESSAGE]})
        async with asking as running:
            run = running.headers["x-prism-run"]
            stopped = (await client.post(f"/api/runs/{run}/cancel")).json()
            await running.aread()
        assert stopped["outcome"] == "cancelled"
        assert '"abort"' in running.text
        assert server.reports == []


async def test_too_many_runs_are_refused_over_sockets(tmp_path: Path) -> None:
    """The request is told why; the socket, and what goes on over it, stay."""
    async with serving(limit_runs=1, tokens=token_file(tmp_path)) as (server, client):
        body = {"id": "one", "messages": [MESSAGE]}
        async with client.stream("POST", "/api/chat/app", json=body, headers=headers(ANN)):
            url = server.url.replace("http", "ws") + "/api/chat/app/socket"
            async with connect(
                url, additional_headers=headers(ANN), open_timeout=PATIENCE
            ) as socket:
                frame = {"type": "send", "requestId": "r", "id": "two", "messages": [MESSAGE]}
                await socket.send(json.dumps(frame))
                refused = json.loads(await socket.recv())
            live = f"session=s1&userId={ANN}"
            async with server.live(live, additional_headers=headers(ANN)) as talking:
                await talking.say("hello")
                told = await talking.error()
    assert refused["type"] == "error"
    assert "1 active runs" in json.dumps(refused)
    assert told["code"] == "too-many"
