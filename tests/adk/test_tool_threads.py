"""Where synchronous tools run: in threads, unless the app or the variables of its neighbours say no."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.app_folders import restored
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.local_server import local_server

from adk_prism import limit_tool_threads
from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.runner import adk_pool
from adk_prism.adk.services import ServiceUris, open_services
from adk_prism.adk.tools import WORK, NotingExecutor, Work, thread_pool
from adk_prism.errors import Diagnostic

AGENT = """
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="agent", model="gemini-2.5-flash")
"""


@pytest.fixture
def _restored() -> Iterator[None]:
    with restored():
        yield


@pytest.mark.parametrize("threads", [32, 0])
async def test_where_tools_and_callbacks_run(threads: int) -> None:
    """A `def` tool in a thread; everything else on the loop."""
    seen: dict[str, str] = {}

    def note(name: str) -> None:
        seen[name] = threading.current_thread().name

    def plain() -> dict[str, bool]:
        """Work."""
        note("def")
        return {"ok": True}

    async def coroutine() -> dict[str, bool]:
        """Work."""
        note("async def")
        return {"ok": True}

    def before(**_: Any) -> None:
        note("callback")

    root = LlmAgent(
        name="agent",
        model=Scripted.saying([call("plain", "c1"), call("coroutine", "c2")], "Done."),
        tools=[plain, coroutine],
        before_tool_callback=before,
    )
    async with local_server(root, tool_threads=threads) as server:
        await server.say("go")
    own = threading.current_thread().name
    assert (seen["async def"], seen["callback"]) == (own, own)
    assert (seen["def"] == own) == (threads == 0)


@pytest.mark.parametrize(("declared", "expected"), [((), 32), ((0,), 0), ((4,), 4)])
def test_an_app_declares_its_threads(declared: tuple[int, ...], expected: int) -> None:
    root = LlmAgent(name="agent", model=Scripted())
    app = App(
        name="app", root_agent=root, plugins=[limit_tool_threads(count) for count in declared]
    )
    runner = Runner(
        app=app,
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    apps = Apps.of_runners({"app": runner}, tool_threads=32)
    assert apps.threads_of("app") == expected


@pytest.mark.parametrize("count", [-1, 1025])
def test_a_number_that_cannot_be(count: int) -> None:
    with pytest.raises(ValueError, match="0 to 1024"):
        limit_tool_threads(count)


@pytest.mark.usefixtures("_restored")
async def test_apps_with_different_variables_stay_on_the_loop(tmp_path: Path) -> None:
    """In a thread a tool could read the key of another app; one that declares a number has it."""
    for name, more in (
        ("threads_one", ""),
        ("threads_two", ""),
        ("threads_own", "tool_threads = 3"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(AGENT + more)
        (tmp_path / name / ".env").write_text(f"PRISM_TEST_THREADS_KEY={name}\n")
    reports: list[Diagnostic] = []
    uris = ServiceUris(sessions="memory://", artifacts="memory://")
    services = open_services(uris, data_dir=tmp_path, agents_dir=tmp_path)
    apps = Apps.of_folder(tmp_path, services, report=reports.append, tool_threads=32)
    await apps.load("threads_one")
    assert apps.threads_of("threads_one") == 32
    await apps.load("threads_two")
    await apps.load("threads_own")
    found = [apps.threads_of(name) for name in ("threads_one", "threads_one", "threads_own")]
    assert found == [0, 0, 3]
    told = [each.app for each in reports if each.kind == "tools on the event loop"]
    assert told == ["threads_one"]


async def test_adk_finds_our_pool() -> None:
    """A StopIteration in a thread of the pool reaches the caller as a RuntimeError."""
    config = thread_pool(2)
    assert config is not None
    pool = adk_pool(config.max_workers)
    running = asyncio.get_running_loop().run_in_executor(pool, next, iter(()))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(running, 30)


def test_threads_are_shared_among_users() -> None:
    """One user's tools that never return leave threads for the others; users who wait take turns."""
    pool, ends, order = NotingExecutor(8), threading.Event(), list[str]()

    def submit(user: str, function: Callable[[], Any]) -> Future[Any]:
        work = Work(user)
        context = contextvars.copy_context()
        context.run(WORK.set, work)
        context.run(work.begin, "c", "tool")
        return context.run(pool.submit, function)

    stuck = [submit("ann", ends.wait) for _ in range(38)]
    try:
        assert submit("bob", lambda: "bob").result(PATIENCE) == "bob"
        assert pool.submit(lambda: "the server").result(PATIENCE) == "the server"
        bobs = [submit("bob", ends.wait) for _ in range(8)]
        assert submit("cy", lambda: "cy").result(PATIENCE) == "cy"
        assert sum(each.running() for each in stuck) == 5
        assert stuck[-1].cancel()
    finally:
        ends.set()
    assert all(each.result(PATIENCE) for each in [*stuck[:-1], *bobs])
    order += [submit(user, lambda user=user: user).result(PATIENCE) for user in "xyz"]  # type: ignore[misc]
    assert order == list("xyz")
    pool.shutdown()
