"""Stores that fail under work of every kind: no task or future of ours dies without being looked at."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.cluster.replica import begin, replica
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.features.redis import store as reader
from adk_prism.log import group_commit
from adk_prism.log.from_url import open_log


@asynccontextmanager
async def nothing_unretrieved() -> AsyncIterator[None]:
    """Fail for whatever the event loop would have complained about."""
    loop, heard = asyncio.get_running_loop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    yield
    gc.collect()
    await asyncio.sleep(0)
    assert not heard, [(context["message"], context.get("exception")) for context in heard]


async def settle(*asked: asyncio.Task[Any]) -> None:
    """Wait until requests were answered, however."""
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*asked, return_exceptions=True)


def work(server: LocalServer, run: str) -> list[asyncio.Task[Any]]:
    """Do all that waits for a store: watch, resume, list, say, stop, cancel."""
    client = server.client
    said = {"id": "other", "messages": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}]}
    asked = (
        client.get(f"/api/runs/{run}/stream"),
        client.get("/api/chat/app/chat/stream"),
        client.get("/api/runs"),
        client.get("/ready"),
        client.post("/api/chat/app", json=said),
        client.post("/api/chat/app/chat/stop"),
        client.post(f"/api/runs/{run}/cancel"),
    )
    return [asyncio.create_task(each) for each in asked]


async def test_a_redis_that_dies(
    redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a run under way, and two replicas that want something of it."""
    for module in (group_commit, reader):
        monkeypatch.setattr(module, "PATIENCE", 1.0)
    async with nothing_unretrieved():
        model = Scripted.saying(asyncio.Event(), asyncio.Event())
        async with (
            replica(agent(model), redis, tmp_path) as one,
            replica(agent(Scripted.saying()), redis, tmp_path) as two,
        ):
            run = await begin(one)
            await two.reaches(run, b"Once")
            redis.kill()
            await settle(*work(one, run), *work(two, run))
            async with asyncio.timeout(PATIENCE):
                while two.context.runs.canceller._left:  # noqa: ASYNC110 - what was answered before its end
                    await asyncio.sleep(0.05)


async def test_a_file_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run log's file is replaced under a run."""
    monkeypatch.setattr(group_commit, "PATIENCE", 1.0)
    file = tmp_path / "runs.db"
    async with nothing_unretrieved():
        model = Scripted.saying(asyncio.Event(), asyncio.Event())
        log = open_log(f"sqlite:///{file}")
        async with local_server(agent(model), log=log) as server:
            run = await begin(server)
            await server.reaches(run, b"Once")
            file.rename(tmp_path / "elsewhere.db")
            await settle(*work(server, run))
            (tmp_path / "elsewhere.db").rename(file)
