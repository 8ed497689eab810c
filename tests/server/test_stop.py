"""Stopping a run: answered at once, with what is known of tools that do not stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.adk.plugin import watch_nodes
from adk_prism.adk.tools import NO_TIMEOUTS, WORK, NotingExecutor, Work, thread_pool
from adk_prism.errors import ignore
from adk_prism.log.entry import RunId

Json = dict[str, Any]


class Tools:
    """Tools that a test holds, and lets go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.let_go = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def obedient(self) -> Json:
        """Wait, and stop when it is told to."""
        self.reached.set()
        await asyncio.Event().wait()
        return {}

    async def stubborn(self) -> Json:
        """Wait, and ignore that it is told to stop."""
        self.reached.set()
        while not self.let_go.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return {"stubborn": True}

    async def threaded(self) -> Json:
        """Wait in a thread."""
        await asyncio.to_thread(self.block)
        return {"threaded": True}

    def block(self) -> Json:
        """Wait without letting anybody else do anything in this thread."""
        self._loop.call_soon_threadsafe(self.reached.set)
        self.let_go.wait(PATIENCE)
        return {"blocked": True}


@dataclass(frozen=True)
class Case:
    tool: str
    goes_on: bool


CASES = [Case("obedient", False), Case("stubborn", True), Case("threaded", True)]
ROUTES = ["stop", "cancel"]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.tool)
async def test_a_stop_tells_whether_the_tool_goes_on(case: Case, route: str) -> None:
    """It is answered while the tool is held; the run ends as cancelled all the same."""
    asyncio.get_running_loop().set_default_executor(NotingExecutor())
    tools = Tools()
    model = Scripted.saying(call(case.tool, "c1"), "Never said.")
    async with local_server(agent(model, tools=[getattr(tools, case.tool)])) as server:
        try:
            running = asyncio.create_task(server.say("go"))
            await asyncio.wait_for(tools.reached.wait(), PATIENCE)
            [summary] = await server.context.log.list()
            answer = await stopped(server, route, summary.run)
            assert answer["toolRunning"] is case.goes_on
            assert answer["runningTools"] == ([case.tool] if case.goes_on else [])
        finally:
            tools.let_go.set()
        await asyncio.wait_for(running, PATIENCE)
        assert (await server.context.log.summary(RunId(summary.run))).outcome == "cancelled"
        again = await stopped(server, route, summary.run)
        assert (again["toolRunning"], again["runningTools"]) == (False, [])
        assert again.get("stopped", False) is False


async def stopped(server: LocalServer, route: str, run: str) -> Json:
    paths = {"stop": f"/api/chat/{APP}/{SESSION}/stop", "cancel": f"/api/runs/{run}/cancel"}
    async with asyncio.timeout(PATIENCE):
        answer = await server.client.post(paths[route])
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_threads_of_adk_are_seen() -> None:
    """A function that ADK runs in its pool for tools is at work until its thread is done."""
    tools, work, config = Tools(), Work(), RunConfig(tool_thread_pool_config=ToolThreadPoolConfig())
    assert thread_pool(4) is not None
    model = Scripted.saying(call("block", "c1"), "Done.")
    async with local_server(agent(model, tools=[tools.block])) as server:
        watch_nodes(server.runner, NO_TIMEOUTS, ignore)
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        running = asyncio.create_task(drive(server, work, config))
        try:
            await asyncio.wait_for(tools.reached.wait(), PATIENCE)
            assert work.tools == ["block"]
            running.cancel()
            await asyncio.wait([running])
            assert work.tools == ["block"]
        finally:
            tools.let_go.set()
        await until(lambda: asyncio.sleep(0.01), lambda: not work.tools)
        assert not work.tools


async def drive(server: LocalServer, work: Work, config: RunConfig) -> None:
    WORK.set(work)
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in server.runner.run_async(
        user_id=USER, session_id=SESSION, new_message=message, run_config=config
    ):
        pass


async def until(pause: Callable[[], Awaitable[None]], holds: Callable[[], bool]) -> None:
    """Wait for a thread, which tells nobody when it is done."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await pause()
