"""Clients that come, talk and vanish, over and over, and what is left of them.

`python -m tests.voice.cycles 1000` does a thousand and prints tasks, open files and memory,
before and after.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tracemalloc
from typing import NamedTuple

from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served

from adk_prism.log.entry import Origin, RunId

WARM = 40
"""Cycles that are not counted: caches fill."""


async def vanish(server: Served, number: int) -> None:
    """LiveConnection, half of the time until a person is asked, and vanish; then forget the session."""
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
    await server.context.log.delete(origin)
    sessions = server.context.apps.runner("app").session_service
    await sessions.delete_session(app_name="app", user_id="user", session_id=session)


class Left(NamedTuple):
    """What there is at one moment."""

    tasks: int
    files: int
    size: int
    """Bytes."""


def left() -> Left:
    """Count it."""
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    return Left(len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")), size)


async def cycle(count: int) -> tuple[Left, Left, Left]:
    """Let clients come and vanish; return what there was after the first few, after that many more, and after
    as many again."""
    runner = runner_of(scripted_agent(script, TOOLS))
    async with served(runner, live_grace=0.01) as server:
        tracemalloc.start()
        for number in range(WARM):
            await vanish(server, number)
        found = [left()]
        for half in range(2):
            for number in range(count):
                await vanish(server, WARM + half * count + number)
            found.append(left())
        tracemalloc.stop()
    return found[0], found[1], found[2]


if __name__ == "__main__":
    for moment in asyncio.run(cycle(int(sys.argv[1]))):
        print(json.dumps(moment))
    assert not any(tool.behavior for tool in TOOLS)
