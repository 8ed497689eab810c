"""Several servers of one app in this process, which share what replicas do: Redis and the sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.workflow import BaseNode
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import APP, SESSION, USER, LocalServer

from adk_prism.adk.request import EventSource, RunRequest, read_content
from adk_prism.adk.tools import DenialReasonPlugin
from adk_prism.errors import Diagnostic
from adk_prism.features.redis.leases import RedisLeases
from adk_prism.log.entry import Origin, RunEnded, RunId, RunTakenOver, to_raw
from adk_prism.prism import Prism
from adk_prism.server.settings import Settings

LEASE = 30.0
"""Seconds: longer than any pause of the process. Who vanishes gives its leases back."""
ORIGIN = Origin(app=APP, user=USER, session=SESSION)


@asynccontextmanager
async def replica(
    root: BaseNode,
    redis: RedisServer,
    folder: Path,
    *,
    resumable: bool = True,
    service: BaseSessionService | None = None,
    **settings: Any,
) -> AsyncIterator[LocalServer]:
    """Serve the app beside other replicas."""
    app = App(
        name=APP,
        root_agent=root,
        plugins=[DenialReasonPlugin()],
        resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
    )
    runner = Runner(
        app=app,
        session_service=service or SqliteSessionService(str(folder / "sessions.db")),
        artifact_service=InMemoryArtifactService(),
    )
    reports: list[Diagnostic] = []
    chosen = Settings(log=redis.url, keep_alive=1, lease=LEASE, grace=0.1, **settings)
    prism = Prism({APP: runner}, chosen, report=reports.append)
    transport = httpx.ASGITransport(prism.asgi())
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", timeout=PATIENCE
        ) as client,
    ):
        yield LocalServer(client, prism.context, runner, reports, prism.asgi())


async def vanish(server: LocalServer) -> None:
    """Let a replica lose its runs without a word, and take no new ones."""
    runs = server.context.runs
    runs._draining = True
    tasks = [active.task for active in runs._active.values() if active.task is not None]
    assert isinstance(runs._leases, RedisLeases)
    for lease in list(runs._leases._leases.values()):
        lease.lose()
    await asyncio.wait(tasks)


async def ended(server: LocalServer, run: str) -> str | None:
    """Wait until a run is over; return how it ended."""
    async with asyncio.timeout(PATIENCE):
        entries = await server.entries(run)
    last = entries[-1].record
    return last.outcome if isinstance(last, RunEnded) else None


async def begin(server: LocalServer, text: str = "hello", **asked: Any) -> str:
    """Say something as a chat client does, and leave; return the run, which goes on."""
    await server.context.apps.sessions(APP).ensure(ORIGIN)
    content = to_raw({"role": "user", "parts": [{"text": text}]})

    def make(run: RunId) -> EventSource:
        request = RunRequest(run=run, origin=ORIGIN, message=read_content(content), **asked)
        return server.context.conversations.source(request)

    return await server.context.runs.start(ORIGIN, "refuse", make)


def said(message: dict[str, Any]) -> list[str]:
    """Return the texts of a UI message."""
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


async def owns(server: LocalServer, run: str) -> None:
    """Wait until a replica goes on with a run that another one left."""
    seen = 0
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(server.context.log.read(RunId(run), follow=True)) as batches,
    ):
        async for batch in batches:
            seen += sum(isinstance(entry.record, RunTakenOver) for entry in batch)
            if RunId(run) in server.context.runs._active and seen:
                return
