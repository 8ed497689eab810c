"""Several servers of one app in this process, which share what replicas share: Redis and the sessions' file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.workflow import BaseNode
from tests.redis_server import RedisServer
from tests.server.staged import APP, Stage

from adk_prism.diagnostics import Diagnostic
from adk_prism.server.prism import Prism
from adk_prism.server.settings import Settings
from adk_prism.source.denial import DenialPlugin

PATIENCE = 30.0
LEASE = 1.0


@asynccontextmanager
async def replica(
    root: BaseNode,
    redis: RedisServer,
    folder: Path,
    *,
    resumable: bool = True,
    **settings: Any,
) -> AsyncIterator[Stage]:
    """Serve the app beside other replicas."""
    app = App(
        name=APP,
        root_agent=root,
        plugins=[DenialPlugin()],
        resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
    )
    runner = Runner(
        app=app,
        session_service=SqliteSessionService(str(folder / "sessions.db")),
        artifact_service=InMemoryArtifactService(),
    )
    reports: list[Diagnostic] = []
    chosen = Settings(log=redis.url, keep_alive=1, lease=LEASE, **settings)
    prism = Prism({APP: runner}, chosen, report=reports.append)
    transport = httpx.ASGITransport(prism.asgi())
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", timeout=PATIENCE
        ) as client,
    ):
        yield Stage(client, prism.context, runner, reports)


async def vanish(stage: Stage) -> None:
    """Let a replica lose its runs without a word, and take no new ones."""
    runs = stage.context.runs
    runs._draining = True
    for active in list(runs._active.values()):
        active.lose()
        assert active.task is not None
        await asyncio.wait([active.task])


async def ended(stage: Stage, run: str) -> str | None:
    """Wait until a run is over; return how it ended."""
    async with asyncio.timeout(PATIENCE):
        await stage.entries(run)
    found: str | None = (await stage.client.get(f"/api/runs/{run}")).json()["outcome"]
    return found
