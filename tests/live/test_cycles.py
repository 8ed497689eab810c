"""Clients that come, talk and vanish leave nothing behind: no task, no file, no memory."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc

from tests.live.agent import TOOLS, script
from tests.live.served import Served, served
from tests.live.stage import PATIENCE, runner_of, scripted_agent

from adk_prism.runlog.entry import Origin, RunId

WARM = 20
CYCLES = 120
GROWTH = 1500
"""Bytes a cycle may leave: the log remembers the names of removed runs, the client's libraries the last
addresses. A run that is held is a hundred times as much."""


async def vanish(server: Served, number: int) -> None:
    """Talk, half of the time until a person is asked, and vanish; then forget the session."""
    session = f"s{number}"
    async with server.live(f"session={session}") as client:
        if number % 2:
            await client.say("pay", session)
            await client.until_chunk("tool-approval-request")
        else:
            await client.say("hello", session)
            await client.until_chunk("text-delta")
        run = RunId(next(f["run"] for f in client.frames if f["type"] == "session"))
        client.connection.transport.abort()
    async with asyncio.timeout(PATIENCE):
        await server.context.runs.wait(run)
    origin = Origin(app="app", user="user", session=session)
    await server.context.log.delete_session(origin)
    sessions = server.context.apps.runner("app").session_service
    await sessions.delete_session(app_name="app", user_id="user", session_id=session)


def left() -> tuple[int, int, int]:
    """Count tasks, open files and bytes."""
    gc.collect()
    files = len(os.listdir("/proc/self/fd"))
    return len(asyncio.all_tasks()), files, tracemalloc.get_traced_memory()[0]


async def test_nothing_is_left_of_clients_that_vanish() -> None:
    """Counted after some, and after many more."""
    runner = runner_of(scripted_agent(script, TOOLS))
    async with served(runner, live_grace=0.01) as server:
        for number in range(WARM):
            await vanish(server, number)
        tracemalloc.start()
        for number in range(WARM, WARM + 20):
            await vanish(server, number)
        tasks, files, size = left()
        for number in range(100, 100 + CYCLES):
            await vanish(server, number)
        now_tasks, now_files, now_size = left()
        tracemalloc.stop()
        assert now_tasks <= tasks + 1  # uvicorn may be about to let go of the last connection
        assert now_files <= files + 1
        assert now_size - size < CYCLES * GROWTH
        assert not any(tool.behavior for tool in TOOLS)
