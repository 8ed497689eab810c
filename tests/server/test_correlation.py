"""From what a client was told to what the operator was: by the reference, in every protocol."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served
from websockets.asyncio.client import connect

from adk_prism.errors import Diagnostic, LogError
from adk_prism.models import say
from adk_prism.prism import Prism
from adk_prism.server.observability import sink
from adk_prism.server.settings import Settings

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

CAUSE = "the database password is wrong"
Json = dict[str, Any]

MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
SAID = {"appName": "app", "userId": "user", "sessionId": "adk"}
SAID |= {"newMessage": {"role": "user", "parts": [{"text": "hello"}]}}

REQUESTS: dict[str, tuple[str, Json]] = {
    "adk": ("/run", SAID),
    "adk sse": ("/run_sse", SAID),
    "ai-sdk": ("/api/chat/app", {"id": "chat", "messages": [MESSAGE]}),
    "ai-sdk 7": ("/api/chat/app?dialect=7", {"id": "chat", "messages": [MESSAGE]}),
    "studio": ("/api/studio/app/stream", {"input": "hello", "session_id": "studio"}),
}
"""What starts a run, in every protocol over HTTP."""


@asynccontextmanager
async def failing() -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve an agent whose model raises."""
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Scripted.saying(RuntimeError(CAUSE))),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


def check(server: Served, told: str, request: str) -> None:
    """Find the operator's lines by what the client was told; the cause is there, and only there."""
    assert CAUSE not in told
    lines = io.StringIO()
    for diagnostic in server.reports:
        sink("json", lines)(diagnostic)
    written = [json.loads(line) for line in lines.getvalue().splitlines()]
    found = [line for line in written if line.get("correlation", "-") in told]
    assert any(CAUSE in line["cause"] for line in found)
    assert {line["request"] for line in found} == {request}


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_failed_run_leads_to_its_cause(name: str) -> None:
    """The answer has a reference, also when it is read again later; the operator's line has it, too."""
    path, body = REQUESTS[name]
    async with failing() as (server, client):
        await client.post("/apps/app/users/user/sessions/adk")
        answer = await client.post(path, json=body, headers={"x-request-id": "req-1"})
        check(server, answer.text, "req-1")
        protocol = name.partition(" ")[0]
        again = f"/api/runs/{answer.headers['x-prism-run']}/stream?as={protocol}"
        check(server, (await client.get(again)).text, "req-1")


async def test_over_the_chat_socket() -> None:
    """A socket's own id stands for all that is asked on it."""
    async with failing() as (server, _):
        url = server.url.replace("http", "ws") + "/api/chat/app/socket"
        async with connect(
            url, additional_headers={"x-request-id": "req-1"}, open_timeout=PATIENCE
        ) as socket:
            frame = {"type": "send", "requestId": "r", "id": "chat", "messages": [MESSAGE]}
            await socket.send(json.dumps(frame))
            told = ""
            while '"end"' not in told:
                told += str(await socket.recv())
        check(server, told, "req-1")


async def test_over_the_live_socket() -> None:
    """A live run that fails says so before it closes."""

    def broken(_: Any) -> Any:
        raise RuntimeError(CAUSE)

    async with served(runner_of(scripted_agent(broken, []))) as server:
        async with server.live(additional_headers={"x-request-id": "req-1"}) as client:
            await client.say("hello")
            await client.closed()
        told = json.dumps(client.frames)
        assert re.search(r"Reference: [0-9a-f]{12}\.", told)
        check(server, told, "req-1")


async def test_a_problem_leads_to_its_cause() -> None:
    """Before the first byte: the body has the reference and the request's id."""
    async with failing() as (server, client):
        assert (await client.get("/ready")).status_code == 200  # it has started

        async def broken(*_: Any, **__: Any) -> Any:
            raise LogError("The log is away.") from RuntimeError(CAUSE)

        server.context.log.list = broken  # type: ignore[method-assign]
        answer = await client.get("/api/runs", headers={"x-request-id": "req-1"})
        assert answer.status_code == 503
        problem = answer.json()
        assert problem["request"] == answer.headers["x-request-id"] == "req-1"
        check(server, problem["correlation"], "req-1")


async def test_what_goes_on_for_ever_is_of_no_request() -> None:
    """A mounted application starts with its first request; what it starts has nothing to do with that."""
    told: list[Diagnostic] = []
    settings = Settings(log="memory:")
    runner = runner_of(scripted_agent(lambda _: say("Well."), []))
    prism = Prism({"app": runner}, settings, report=told.append)
    waiting = asyncio.Event()

    @asynccontextmanager
    async def background() -> AsyncIterator[None]:
        async def later() -> None:
            await waiting.wait()
            prism.context.report(Diagnostic(kind="later"))

        task = asyncio.create_task(later())
        yield
        await task

    prism.context.lifecycle.hold(background)
    transport = httpx.ASGITransport(prism.asgi())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        await client.get("/health")
    waiting.set()
    await prism.context.lifecycle.stop()
    assert told == [Diagnostic(kind="later")]
