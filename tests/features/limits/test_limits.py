"""One caller's limits, over real connections: 429 for it, nothing for the others."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from starlette.types import Message
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, headers, token_file
from tests.voice.served import Served, served
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from adk_prism.extension import Limiter, Limiters
from adk_prism.features.limits.callers import BURST
from adk_prism.log.entry import RunId

JSON = {"accept": "application/json"}

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")


@asynccontextmanager
async def serving(
    folder: Path, *turns: Any, **limits: Any
) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve an agent to Ann and Bob, within limits."""
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Scripted.saying(*turns)),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner, tokens=token_file(folder), **limits) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, headers=JSON) as client,
    ):
        yield server, client


def said(chat: str) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    return {"id": chat, "messages": [message]}


def asking(client: httpx.AsyncClient, chat: str, user: str = ANN) -> Any:
    return client.stream("POST", "/api/chat/app", json=said(chat), headers=headers(user))


def check_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 429, answer.text
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["content-type"] == "application/problem+json"


async def test_runs_of_a_user_are_limited(tmp_path: Path) -> None:
    """One too many is refused; a message that replaces a run is not one more; Bob has his own."""
    endless = [asyncio.Event() for _ in range(4)]
    async with (
        serving(tmp_path, *endless, limit_runs=2) as (_, client),
        AsyncExitStack() as open_,
    ):
        for chat in ("one", "two"):
            running = await open_.enter_async_context(asking(client, chat))
            assert running.status_code == 200
        check_refused(await client.post("/api/chat/app", json=said("three"), headers=headers(ANN)))
        replaced = await open_.enter_async_context(asking(client, "two"))
        assert replaced.status_code == 200
        bobs = await open_.enter_async_context(asking(client, "one", BOB))
        assert bobs.status_code == 200
        stopped = await client.post("/api/chat/app/one/stop", headers=headers(ANN))
        assert stopped.json() == {"stopped": True, "toolRunning": False, "runningTools": []}
        again = await client.post("/api/chat/app", json=said("three"), headers=headers(ANN))
        assert again.status_code == 200


async def test_open_streams_are_limited(tmp_path: Path) -> None:
    """Viewers of a run that goes on; closed ones make room."""
    async with serving(tmp_path, asyncio.Event(), limit_requests=3) as (_, client):
        async with asking(client, "one") as running, AsyncExitStack() as open_:
            path = f"/api/runs/{running.headers['x-prism-run']}/stream"
            for _ in range(2):
                await open_.enter_async_context(client.stream("GET", path, headers=headers(ANN)))
            check_refused(await client.get(path, headers=headers(ANN)))
            assert (await client.get("/list-apps", headers=headers(BOB))).status_code == 200
        deadline = time.monotonic() + PATIENCE
        while (await client.get("/list-apps", headers=headers(ANN))).status_code == 429:
            assert time.monotonic() < deadline


async def test_sockets_are_limited(tmp_path: Path) -> None:
    """The handshake is answered 429."""
    async with serving(tmp_path, limit_sockets=1) as (server, _):
        url = server.url.replace("http", "ws") + "/api/chat/app/socket"
        async with connect(url, additional_headers=headers(ANN), open_timeout=PATIENCE):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers=headers(ANN), open_timeout=PATIENCE)
            assert refused.value.response.status_code == 429
            assert int(refused.value.response.headers["retry-after"]) >= 1
            async with connect(url, additional_headers=headers(BOB), open_timeout=PATIENCE):
                pass


async def test_a_flood_is_refused_and_others_are_served(tmp_path: Path) -> None:
    """Far more often than allowed: what is beyond gets 429, and Bob gets all his answers."""
    async with serving(tmp_path, limit_rate=1) as (_, client):

        async def ask(user: str) -> httpx.Response:
            return await client.get("/list-apps", headers=headers(user))

        began = time.monotonic()
        flood = await asyncio.gather(*(ask(ANN) for _ in range(50)))
        allowed = BURST + (time.monotonic() - began)
        refused = [answer for answer in flood if answer.status_code != 200]
        assert len(flood) - len(refused) <= allowed
        assert refused
        for answer in refused:
            check_refused(answer)
        assert [(await ask(BOB)).status_code for _ in range(BURST)] == [200] * BURST


async def test_bytes_are_limited(tmp_path: Path) -> None:
    """What was sent is paid for before anything new is taken."""
    async with serving(tmp_path, limit_bytes=2000) as (_, client):
        long = {"stateDelta": {"x": "y" * 30_000}}
        path = f"/apps/app/users/{ANN}/sessions/none"
        assert (await client.patch(path, json=long, headers=headers(ANN))).status_code == 404
        check_refused(await client.get("/list-apps", headers=headers(ANN)))
        assert (await client.get("/list-apps", headers=headers(BOB))).status_code == 200


async def test_a_socket_that_sends_too_much_waits(tmp_path: Path) -> None:
    """What comes in over it is read no faster than is allowed; another's is answered at once."""
    async with serving(tmp_path, limit_bytes=4000) as (server, _):
        url = server.url.replace("http", "ws") + "/api/live/app?audio=binary"
        ping = json.dumps({"type": "ping", "version": "1.0"})
        async with (
            connect(url, additional_headers=headers(ANN), open_timeout=PATIENCE) as greedy,
            connect(url, additional_headers=headers(BOB), open_timeout=PATIENCE) as other,
        ):
            began = time.monotonic()
            await greedy.send("x" * 6000)  # no frame, and half a second too much
            await greedy.send(ping)
            await other.send(ping)
            assert "pong" in str(await other.recv())
            while "pong" not in str(await greedy.recv()):
                pass
            assert time.monotonic() - began >= 0.5


async def outcome(client: httpx.AsyncClient, run: str) -> str | None:
    """Wait for a run's end without following it, so that nobody watches."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await client.get(f"/api/runs/{run}", headers=headers(ANN))).json()
            if found["outcome"] is not None:
                return str(found["outcome"])


async def test_a_run_ends_after_its_time(tmp_path: Path) -> None:
    """Watched or not; its viewers see the end."""
    async with (
        serving(tmp_path, asyncio.Event(), limit_run_time=0.2) as (server, client),
        asking(client, "one") as running,
    ):
        text = (await running.aread()).decode()
        (told,) = [r for r in server.reports if r.kind == "run stopped"]
        assert f"The run failed (run_time_limit). Reference: {told.correlation}." in text
        assert await outcome(client, running.headers["x-prism-run"]) == "failed"
        assert told.detail == "run_time_limit"


async def test_a_run_that_nobody_watches_ends(tmp_path: Path) -> None:
    """Its client has gone; as long as somebody watches it goes on."""
    async with serving(tmp_path, asyncio.Event(), limit_unwatched=2.0) as (server, client):
        async with asking(client, "one") as running:
            run = running.headers["x-prism-run"]
            await asyncio.sleep(3.0)  # what is tested is that time alone does not end it
            assert server.context.runs.is_active(run)
        assert await outcome(client, run) == "failed"
        assert [r.detail for r in server.reports if r.run] == ["unwatched_limit"]


async def test_orphans_end_and_leave_nothing(tmp_path: Path) -> None:
    """A hundred runs whose clients vanish: all end, and no task is left (`served` waits for that)."""
    many = 100
    events = [asyncio.Event() for _ in range(many)]
    limits = {
        "limit_unwatched": 0.3,
        "limit_runs": many,
        "limit_rate": 1000,
        "limit_requests": 1000,
    }
    async with serving(tmp_path, *events, **limits) as (server, client):

        async def vanish(number: int) -> str:
            async with asking(client, f"chat {number}") as running:
                found: str = running.headers["x-prism-run"]
                return found

        runs = [await vanish(number) for number in range(many)]
        async with asyncio.timeout(PATIENCE):
            for run in runs:
                await server.context.runs.wait(RunId(run))
        listed = (await client.get("/api/runs", headers=headers(ANN))).json()
        assert {run["outcome"] for run in listed} == {"failed"}


async def test_without_limits_nothing_stands_in_the_way() -> None:
    """A developer's server counts nothing: messages pass as they are."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError("nothing is sent")

    async with Limiters([Limiter()]).counting({"type": "http"}, receive, send) as passed:
        assert passed == (receive, send)
