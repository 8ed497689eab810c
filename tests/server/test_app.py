"""One application, three ways to run it: served, mounted with a lifespan, mounted without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from starlette.testclient import TestClient
from tests.adk.scripted import Scripted, call
from tests.server.local_server import local_server

import adk_prism
from adk_prism.errors import Diagnostic, Draining, LogError, UsageError, ignore
from adk_prism.log.entry import RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.prism import Prism
from adk_prism.server.app import create_app
from adk_prism.server.context import Context
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.settings import Settings


def runner() -> InMemoryRunner:
    return InMemoryRunner(agent=LlmAgent(name="support", model="offline"), app_name="support")


class CountedLog(MemoryLog):
    """A log that counts how often it was opened and closed."""

    opened = closed = 0

    async def open(self) -> None:
        self.opened += 1
        await super().open()

    async def close(self) -> None:
        self.closed += 1
        await super().close()


def test_the_public_names_are_these() -> None:
    """What a user imports is what is said to be public."""
    assert adk_prism.create_app is create_app
    assert adk_prism.Prism is Prism


def test_an_app_can_be_served_by_any_asgi_server(settings: Settings) -> None:
    """Starlette's own test client runs the lifespan and names a host of its own."""
    with TestClient(Prism({"support": runner()}, settings).asgi()) as client:
        assert client.get("/list-apps").json() == ["support"]


def test_a_mounted_prism_starts_with_its_first_request(settings: Settings) -> None:
    """Starlette runs no lifespan of a mounted application; many first requests start it once."""
    log = CountedLog()
    host = FastAPI()
    host.mount("/agents", Prism({"support": runner()}, settings, log=log).asgi())

    async def ask_often() -> list[httpx.Response]:
        transport = httpx.ASGITransport(host)
        async with httpx.AsyncClient(transport=transport, base_url="http://host") as client:
            asked = [client.get("/agents/list-apps") for _ in range(5)]
            return await asyncio.gather(*asked)

    answers = asyncio.run(ask_often())
    assert [answer.json() for answer in answers] == [["support"]] * 5
    assert log.opened == 1


def test_a_mounted_prism_survives_its_event_loop(settings: Settings) -> None:
    """A test client without a lifespan runs each request in a loop of its own."""
    client = TestClient(Prism({"support": runner()}, settings).asgi())
    path = "/apps/support/users/u/sessions/s"
    assert client.post(path).status_code == 200
    assert client.get(path).json()["id"] == "s"
    assert client.delete(path).status_code == 200


def test_a_mounted_prism_can_follow_its_hosts_lifespan(settings: Settings) -> None:
    """The host starts it and stops it; its own routes stay its own."""
    log = CountedLog()
    prism = Prism({"support": runner()}, settings, log=log)
    host = FastAPI(lifespan=prism.lifespan)
    host.mount("/agents", prism.asgi())

    @host.get("/mine")
    async def mine() -> str:
        return "mine"

    with TestClient(host) as client:
        assert (log.opened, log.closed) == (1, 0)
        assert client.get("/mine").json() == "mine"
        assert client.get("/agents/health").json() == {"status": "ok"}
    assert (log.opened, log.closed) == (1, 1)


def test_a_mounted_prism_knows_its_prefix(settings: Settings, unbuilt: None) -> None:
    """Its page, its OpenAPI and its problems are right below a prefix, too."""
    host = FastAPI()
    host.mount("/agents", Prism({"support": runner()}, settings).asgi())
    client = TestClient(host, base_url="http://host.internal")
    page = client.get("/agents/")
    assert "http://host.internal/agents/api/chat/support" in page.text
    document = client.get("/agents/openapi.json").json()
    assert document["servers"] == [{"url": "/agents"}]
    assert client.get("/agents/nothing").headers["content-type"] == "application/problem+json"
    session = client.post("/agents/apps/support/users/u/sessions/s", json={"a": 1})
    assert session.json()["state"] == {"a": 1}


def test_a_root_path_is_said_in_openapi(settings: Settings, unbuilt: None) -> None:
    """A proxy takes the prefix off; links must still have it."""
    client = TestClient(Prism({"support": runner()}, settings).asgi(), root_path="/p")
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/p"}]
    assert "http://testserver/p/api/chat" in client.get("/").text


def test_a_stopped_server_can_start_again(settings: Settings) -> None:
    """A reload, or a second test client."""
    log = CountedLog()
    app = Prism({"support": runner()}, settings, log=log).asgi()
    for _ in range(2):
        with TestClient(app) as client:
            assert client.get("/health").status_code == 200
    assert (log.opened, log.closed) == (2, 2)


class LockedLog(MemoryLog):
    """A log that somebody else holds."""

    async def open(self) -> None:
        raise LogError("The log is in use by another process.")


def test_a_log_that_does_not_open_is_said_with_each_request(settings: Settings) -> None:
    """A mounted application cannot fail to start; it answers 503 until it can."""
    host = FastAPI()
    reports: list[Diagnostic] = []
    prism = Prism({"support": runner()}, settings, log=LockedLog(), report=reports.append)
    host.mount("/agents", prism.asgi())
    answer = TestClient(host).get("/agents/health")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The log is in use by another process."
    assert reports[0].correlation == answer.json()["correlation"]


@pytest.mark.parametrize(
    "changes", [{"sessions": "nonsense://x"}, {"log": "nonsense:"}, {"log": "redis://host/x"}]
)
def test_what_cannot_be_is_said_when_the_app_is_made(
    settings: Settings, changes: dict[str, str]
) -> None:
    """Not with the first request."""
    with pytest.raises(UsageError):
        create_app(settings=replace(settings, **changes))


def test_a_folder_that_is_not_there_is_said_when_the_app_is_made(settings: Settings) -> None:
    """With the folder's name: it is the caller's own."""
    with pytest.raises(UsageError, match="no-such-folder"):
        create_app("no-such-folder", settings)


async def test_health_says_that_the_server_goes_down(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    """A balancer sends nothing more; what is asked all the same is still answered."""
    context: Context = app.state.context
    await context.lifecycle.drain(grace=1)
    answer = await client.get("/health")
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    assert (await client.get("/list-apps")).status_code == 200
    with pytest.raises(Draining):
        context.lifecycle.check_open()


# --------------------------------------------------------------------------- lifecycle


async def test_what_was_opened_is_closed_last_first() -> None:
    """As nested blocks would."""
    told: list[str] = []
    lifecycle = Lifecycle(ignore)
    for name in ("a", "b"):
        lifecycle.hold(lambda name=name: open_and_close(name, told))
    await lifecycle.start()
    await lifecycle.start()
    await lifecycle.stop()
    await lifecycle.stop()
    assert told == ["open a", "open b", "close b", "close a"]


async def test_a_failed_start_leaves_nothing_open() -> None:
    """What was opened before the failure is closed; the next start tries again."""
    told: list[str] = []
    lifecycle = Lifecycle(ignore)
    lifecycle.hold(lambda: open_and_close("a", told))
    lifecycle.hold(lambda: open_and_close("bad", told))
    for _ in range(2):
        with pytest.raises(LogError):
            await lifecycle.start()
    assert told == ["open a", "close a"] * 2


@asynccontextmanager
async def open_and_close(name: str, told: list[str]) -> AsyncIterator[None]:
    if name == "bad":
        raise LogError("It does not open.")
    told.append(f"open {name}")
    try:
        yield
    finally:
        told.append(f"close {name}")


async def test_a_drain_is_bounded_and_its_failures_are_told() -> None:
    """A hook that hangs or fails does not keep the server from stopping."""
    reports: list[Diagnostic] = []
    lifecycle = Lifecycle(reports.append)
    patience: list[float] = []

    async def hang(seconds: float) -> None:
        patience.append(seconds)
        await asyncio.Event().wait()

    async def fail(seconds: float) -> None:
        raise LogError("No.")

    lifecycle.on_drain(hang)
    lifecycle.on_drain(fail)
    await lifecycle.start()
    await lifecycle.drain(grace=0.01)
    assert patience == [0.004]
    assert [report.kind for report in reports] == ["drain incomplete"] * 2


async def test_runners_of_a_host_stop_at_the_limit_of_model_calls() -> None:
    """As apps of a folder do."""

    def look() -> str:
        """Look."""
        return "seen"

    model = Scripted.saying(call("look", "c1"), call("look", "c2"), "Done.")
    root = LlmAgent(name="helper", model=model, tools=[look])
    async with local_server(root, max_llm_calls=1) as server:
        run = await server.say("go")
        assert (await server.context.log.summary(RunId(run))).outcome == "failed"
        assert len(model.requests) == 1
