"""What it costs to keep a run in Redis, owned by a lease, against the bare Runner that makes the run.

The same long answer, three times in turn: the Runner alone, recorded in memory, recorded in Redis. What Redis
adds to the memory's recording is the price of a cluster. CPU time of the thread, which is what limits a
process; Redis itself is another process, here from its wheel.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from tests.redis_server import RedisServer

from adk_prism.adk.request import EventSource, RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.errors import ignore
from adk_prism.features.redis.leases import RedisLeases
from adk_prism.features.redis.store import RedisLog
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import Leases, LocalLeases
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import SessionLocks
from benchmarks.agents.speaker.agent import root_agent
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

DELTAS = 2000
TARGET = 0.10

Work = Callable[[str], Awaitable[None]]
_sessions = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparison."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        server = RedisServer(Path(folder))
        redis = (RedisLog(server.url), RedisLeases(server.url))
        memory = (MemoryLog(), LocalLeases())
        try:
            for part in (*redis, *memory):
                loop.run(part.open())
            works = {"bare": _bare(), "memory": _recorded(*memory), "redis": _recorded(*redis)}
            variants = {
                name: cpu_per_item(lambda work=work: loop.run(_once(work)), DELTAS)
                for name, work in works.items()
            }
            measured = take_turns(variants, 3 if quick else 11)
            for part in reversed((*redis, *memory)):
                loop.run(part.close())
        finally:
            server.kill()
    # What else a machine does can only add, so the best round of each is compared.
    bare, kept, in_redis = (min(measured.costs[name]) for name in works)
    name = f"{DELTAS:,} deltas, per delta: Redis more than memory, against a bare Runner"
    return [Row(name, micros(in_redis - kept), micros(bare), (in_redis - kept) / bare, TARGET)]


def _runner() -> Runner:
    return Runner(
        app=App(name="speaker", root_agent=root_agent), session_service=InMemorySessionService()
    )


async def _once(work: Work) -> None:
    await work(f"session-{next(_sessions)}")


def _bare() -> Work:
    runner = _runner()

    async def work(session: str) -> None:
        await runner.session_service.create_session(
            app_name="speaker", user_id="user", session_id=session
        )
        events = runner.run_async(
            user_id="user",
            session_id=session,
            new_message=_message(),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        async for _ in events:
            pass

    return work


def _recorded(log: RunLog, leases: Leases) -> Work:
    runner = _runner()
    runs = Runs(log, SessionLocks(leases), ignore, leases)

    async def work(session: str) -> None:
        await runner.session_service.create_session(
            app_name="speaker", user_id="user", session_id=session
        )
        origin = Origin(app="speaker", user="user", session=session)

        def make(run: RunId) -> EventSource:
            request = RunRequest(run=run, origin=origin, message=_message())
            return RunnerSource(runner, request, nodes=True)

        await runs.wait(await runs.start(origin, "refuse", make))

    return work


def _message() -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=str(DELTAS))])
