"""A run log that cannot be written for a while, or for too long: nobody is told an untrue outcome."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from redis.asyncio import Redis
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import begin, ended, replica
from tests.log.test_sqlite import full_disk
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.log import group_commit
from adk_prism.log.entry import RunEnded, RunId
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs import recorder as record

Outage = Callable[[], AbstractAsyncContextManager[None]]
Json = dict[str, Any]


class Tool:
    """A tool that waits for the test, and counts."""

    def __init__(self) -> None:
        self.begun = 0
        self.reached, self.goes_on = asyncio.Event(), asyncio.Event()
        self.reached_again, self.ends = asyncio.Event(), asyncio.Event()

    async def work(self) -> Json:
        """Work."""
        self.begun += 1
        self.reached.set()
        await self.goes_on.wait()
        return {"worked": True}

    async def work_on(self) -> Json:
        """Work once more."""
        self.begun += 1
        self.reached_again.set()
        await self.ends.wait()
        return {"worked": True}

    @property
    def all(self) -> list[Any]:
        return [self.work, self.work_on]

    async def pass_outage(self, stage: LocalServer) -> None:
        """Have something to write, and go on once the log is unavailable."""
        self.goes_on.set()
        await asyncio.wait_for(self.reached_again.wait(), PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while not any(r.kind == "run log unavailable" for r in stage.reports):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        self.ends.set()


@asynccontextmanager
async def on_sqlite(model: Scripted, tool: Tool, folder: Path) -> AsyncIterator[LocalServer]:
    service, log = SqliteSessionService(str(folder / "sessions.db")), SqliteLog(folder / "runs.db")
    async with local_server(
        agent(model, tools=tool.all), service=service, log=log, resumable=True
    ) as stage:
        yield stage


@asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[None]:
    other = sqlite3.connect(folder / "runs.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


@asynccontextmanager
async def redis_full(redis: RedisServer) -> AsyncIterator[None]:
    async with Redis.from_url(redis.url) as store:
        await store.config_set("maxmemory", "1mb")
        try:
            yield
        finally:
            await store.config_set("maxmemory", "0")


@asynccontextmanager
async def redis_away(redis: RedisServer) -> AsyncIterator[None]:
    redis.kill()
    try:
        yield
    finally:
        await asyncio.to_thread(redis.restart)


@pytest.fixture(params=["locked", "full", "redis full"])
async def place(
    request: pytest.FixtureRequest, redis: RedisServer, tmp_path: Path
) -> tuple[Callable[[Scripted, Tool], AbstractAsyncContextManager[LocalServer]], Outage]:
    """Return how to serve, and how the log is lost."""
    if request.param == "redis full":
        return (
            lambda model, tool: replica(agent(model, tools=tool.all), redis, tmp_path),
            lambda: redis_full(redis),
        )
    outages = {"locked": locked, "full": log_full}
    return (
        lambda model, tool: on_sqlite(model, tool, tmp_path),
        lambda: outages[request.param](tmp_path),
    )


@asynccontextmanager
async def log_full(folder: Path) -> AsyncIterator[None]:
    """Refuse what makes the log's journal larger; ADK's sessions are in a smaller file."""
    files = [file for file in folder.iterdir() if file.name.startswith("runs.db")]
    largest = max(files, key=lambda file: file.stat().st_size)
    with full_disk(largest):
        yield


async def watch(stage: LocalServer, run: str) -> bytes:
    """Return what a viewer is sent until the connection is closed, with an end of the body or without."""
    app, sent = stage.app, b""
    assert app is not None
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"/api/runs/{run}/stream",
        "raw_path": f"/api/runs/{run}/stream".encode(),
        "query_string": b"as=ai-sdk",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }

    async def receive() -> Any:
        return await asyncio.Future()

    async def send(message: Any) -> None:
        nonlocal sent
        sent += message.get("body", b"")

    await app(scope, receive, send)
    return sent


async def stuck(stage: LocalServer) -> None:
    """Wait until the run has given up, and its end waits for the log."""
    async with asyncio.timeout(PATIENCE):
        while not any(r.detail == "log_unavailable" for r in stage.reports):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def answered(stage: LocalServer) -> None:
    """Wait until ADK's session has the answer."""
    async with asyncio.timeout(PATIENCE):
        while "Once upon a time." not in str(await stage.stored()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def end_of(stage: LocalServer, run: str) -> tuple[str, str]:
    """Return how a run ended, once that is stored; the log may be unavailable until then."""
    async with asyncio.timeout(PATIENCE):
        while (await stage.context.log.summary(RunId(run))).outcome is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    last = (await stage.entries(run))[-1].record
    assert isinstance(last, RunEnded)
    return last.outcome, last.code


async def test_a_short_outage_is_a_pause(place: Any, tmp_path: Path) -> None:
    """While a tool runs and while words come: the run finishes, and a viewer sees everything once."""
    serve, outage = place
    tool, model = Tool(), Scripted.saying(call("work", "c1"), "Once upon a time.")
    async with serve(model, tool) as stage:
        run = await begin(stage)
        await tool.reached.wait()
        watching = asyncio.create_task(watch(stage, run))
        async with outage():
            tool.goes_on.set()
            await answered(stage)
            assert (await stage.client.get("/health")).status_code == 200
            assert (await stage.client.get(f"/api/runs/{run}")).status_code == 200
        assert await end_of(stage, run) == ("finished", "")
        seen = await asyncio.wait_for(watching, PATIENCE)
        assert seen.endswith(b"data: [DONE]\n\n")
        assert tool.begun == 1


@pytest.mark.parametrize("stops", [False, True], ids=["left alone", "stopped"])
async def test_a_long_outage_fails_runs_with_its_name(
    place: Any, stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Viewers are cut and told nothing; once the log is back the end is there, without a restart, and the
    conversation goes on. A stop is answered; it does not change what has happened."""
    monkeypatch.setattr(group_commit, "PATIENCE", 0.5)
    monkeypatch.setattr(record, "STORED_AGAIN", 0.05)
    serve, outage = place
    tool, model = Tool(), Scripted.saying(call("work", "c1"), call("work_on", "c2"), "Never said.")
    async with serve(model, tool) as stage:
        run = await begin(stage)
        await tool.reached.wait()
        watching = asyncio.create_task(watch(stage, run))
        async with outage():
            await tool.pass_outage(stage)
            await stuck(stage)
            seen = (await asyncio.wait_for(watching, PATIENCE)).decode()
            assert '"error"' not in seen
            assert '"abort"' not in seen
            assert "[DONE]" not in seen
            said = {"role": "user", "parts": [{"type": "text", "text": "x"}]}
            refused = await stage.client.post(
                "/api/chat/app", json={"id": "other", "messages": [said]}
            )
            assert refused.status_code == 503
            if stops:
                for path in ("/api/chat/app/chat/stop", f"/api/runs/{run}/cancel"):
                    assert (await stage.client.post(path)).status_code in (200, 204), path
        assert await end_of(stage, run) == ("failed", "log_unavailable")
        await stage.context.runs.wait(RunId(run))
        model.say_nothing_more()
        model.then("Here I am.")
        assert await ended(stage, await begin(stage)) == "finished"
        later = await stage.client.get(f"/api/runs/{run}/stream?as=ai-sdk")
        assert later.text.startswith(seen), "what was seen is in the log"
        assert '"type":"abort"' not in later.text
        assert tool.begun == 2
        kinds = {report.kind for report in stage.reports}
        assert {"run log unavailable", "run log available again"} <= kinds


async def test_a_run_that_is_stopped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody cancelled it before the log was given up: that is its end."""
    tool, model = Tool(), Scripted.saying(call("work", "c1"), "Never said.")
    monkeypatch.setattr(record, "STORED_AGAIN", 0.05)
    async with on_sqlite(model, tool, tmp_path) as stage:
        run = await begin(stage)
        await tool.reached.wait()
        async with locked(tmp_path):
            answer = await stage.client.post(f"/api/runs/{run}/cancel")
            assert answer.status_code == 200
        assert await end_of(stage, run) == ("cancelled", "")


@pytest.mark.parametrize("is_long", [False, True], ids=["a while", "too long"])
async def test_a_redis_that_is_away(
    redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """The run goes on when it is back; if that takes too long, it fails with the cause."""
    monkeypatch.setattr(group_commit, "PATIENCE", 0.3 if is_long else PATIENCE)
    monkeypatch.setattr(record, "STORED_AGAIN", 0.05)
    tool = Tool()
    model = Scripted.saying(call("work", "c1"), call("work_on", "c2"), "Once upon a time.")
    async with replica(agent(model, tools=tool.all), redis, tmp_path) as stage:
        run = await begin(stage)
        await tool.reached.wait()
        async with redis_away(redis):
            if is_long:
                await tool.pass_outage(stage)
                await stuck(stage)
            tool.goes_on.set()
            tool.ends.set()
        expected = ("failed", "log_unavailable") if is_long else ("finished", "")
        assert await end_of(stage, run) == expected


async def test_a_process_that_dies_during_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody was told an end. The log gets what the session has before the run goes on, and what was said is
    not said again."""
    tool, model = Tool(), Scripted.saying(call("work", "c1"), "Once upon a time.")
    monkeypatch.setattr("adk_prism.log.group_commit.LAST_PATIENCE", 0.0)
    monkeypatch.setattr("adk_prism.runs.runs.END_GRACE", 0.1)
    tool.goes_on.set()
    async with on_sqlite(model, tool, tmp_path) as stage:
        run = await begin(stage)
        await tool.reached.wait()
        lock = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, timeout=PATIENCE)
        lock.execute("BEGIN EXCLUSIVE")
        await answered(stage)
    lock.close()
    again = Scripted.saying("Said again.")
    async with on_sqlite(again, tool, tmp_path) as stage:
        outcome, code = await end_of(stage, run)
        # It had finished, or was stopped with the server: in no case did a person cancel it.
        assert (outcome, code) in {("finished", ""), ("failed", "owner_lost")}
        assert not again.requests
        assert tool.begun == 1
        texts = [str(event) for event in (await stage.session())["events"]]
        assert sum("Once upon a time." in text for text in texts) == 1
