"""Whatever agent code does, its run ends once, truly, and the server goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from google.adk.workflow import BaseNode
from google.genai import types
from msgspec import structs
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.recordings.shapes import calling
from tests.runs.hostile import (
    BEGUN,
    HOOKS,
    LEFT,
    PLACES,
    RAISED,
    RELEASED,
    RETURNED,
    TOLERATED,
    UNAWAITED,
    Do,
    Hostile,
    async_tool,
    awaits_cancelled,
    cancels_itself,
    custom_agent,
    hangs,
    leaks_task,
    leaks_thread,
    model,
    swallows,
    sync_tool,
    workflow_node,
)
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server
from tests.voice.live_run import event_of, live, runner_of, scripted_agent

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.log.entry import Origin, RunEnded, RunId
from adk_prism.models import Call

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
    # What agent code leaves behind is its own.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SYNC_NODES = {"sync_workflow_node"}
Place = Callable[[Do], BaseNode]


@pytest.fixture(autouse=True)
async def _released() -> AsyncIterator[None]:
    RELEASED.clear()
    BEGUN.clear()
    LEFT.clear()
    yield
    RELEASED.set()
    while UNAWAITED:
        UNAWAITED.pop().close()


async def _end(server: LocalServer, run: str) -> RunEnded:
    """Return the one end of a run, which is its last entry."""
    entries = await asyncio.wait_for(server.entries(run), PATIENCE)
    ends = [entry.record for entry in entries if isinstance(entry.record, RunEnded)]
    assert len(ends) == 1
    assert entries[-1].record is ends[0]
    return ends[0]


async def _said(server: LocalServer) -> RunEnded:
    run = await asyncio.wait_for(server.say("go"), PATIENCE)
    return await _end(server, run)


async def _still_serves(server: LocalServer) -> None:
    answer = await server.client.get("/health")
    assert answer.status_code == 200
    assert (await server.client.get(f"/api/runs?app={APP}")).status_code == 200
    assert not server.context.runs.by_app()


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", PLACES)
async def test_whatever_is_raised_fails_the_run(place: str, raised: str) -> None:
    """With the class as its code; the operator is told the cause, under the reference in the log."""
    do, code = RAISED[raised]
    async with local_server(PLACES[place](do)) as server:
        end = await _said(server)
        await _still_serves(server)
        if (place, raised) in TOLERATED:
            assert end.outcome == "finished"
            return
        assert end.outcome == "failed"
        assert end.code
        assert end.code in (code or end.code, "RuntimeError")
        [told] = [each for each in server.reports if each.kind == "run failed"]
        assert told.correlation == end.correlation


@pytest.mark.parametrize("raised", ["SystemExit", "BaseException", "CancelledError"])
@pytest.mark.parametrize("hook", HOOKS)
async def test_whatever_a_plugin_raises_fails_the_run(hook: str, raised: str) -> None:
    do, _ = RAISED[raised]
    async with local_server(sync_tool(lambda: {"ok": True})) as server:
        server.runner.plugin_manager.register_plugin(Hostile(hook, do))
        end = await _said(server)
        assert (end.outcome, bool(end.code)) == ("failed", True)
        await _still_serves(server)


@pytest.mark.parametrize("do", [cancels_itself, awaits_cancelled], ids=lambda do: do.__name__)
@pytest.mark.parametrize(
    "place", sorted(PLACES.keys() - {"sync_tool", "sync_callback"} - SYNC_NODES)
)
async def test_a_cancellation_that_nobody_requested_is_a_failure(place: str, do: Do) -> None:
    """ADK would end the run as if all were well."""
    async with local_server(PLACES[place](do)) as server:
        end = await _said(server)
        assert (end.outcome, end.code) == ("failed", "CancelledError")
        await _still_serves(server)


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize("place", [sync_tool, async_tool, workflow_node], ids=lambda p: p.__name__)
async def test_whatever_is_returned_ends_the_run(place: Place, returned: str) -> None:
    """An odd result is an answer to the model, or a failure; it is never an open stream."""
    async with local_server(place(RETURNED[returned])) as server:
        end = await _said(server)
        assert end.outcome in ("finished", "failed")
        await _still_serves(server)


@pytest.mark.parametrize("do", [leaks_task, leaks_thread], ids=lambda do: do.__name__)
async def test_what_a_tool_leaves_behind_is_not_the_servers_end(do: Do) -> None:
    """The run has nothing to do with it."""
    async with local_server(async_tool(do)) as server:
        end = await _said(server)
        assert end.outcome == "finished"
        assert await asyncio.to_thread(LEFT.wait, PATIENCE)
        await _still_serves(server)


@pytest.mark.parametrize("do", [swallows, hangs], ids=lambda do: do.__name__)
@pytest.mark.parametrize(
    "place", [async_tool, model, custom_agent, workflow_node], ids=lambda p: p.__name__
)
async def test_a_stop_ends_whatever_never_ends(place: Place, do: Do) -> None:
    """Also where the agent's code ignores its cancellation: then the operator is told that it still runs."""
    async with local_server(place(do)) as server:
        run = await _begun(server)
        answer = await asyncio.wait_for(
            server.client.post(f"/api/runs/{run}/cancel", timeout=PATIENCE), PATIENCE
        )
        assert answer.status_code == 200
        assert (await _end(server, run)).outcome == "cancelled"
        ignored = do is swallows
        assert any(each.kind == "run abandoned" for each in server.reports) == ignored
        assert server.context.runs.abandoned == ignored
        await _still_serves(server)
        RELEASED.set()
        if ignored:
            await _nothing_is_abandoned(server)


async def test_a_session_is_free_after_an_abandoned_run() -> None:
    """And what the abandoned code still does reaches neither the session nor the log."""
    go_on = asyncio.Event()

    async def ignores() -> dict[str, bool]:
        """Ignore."""
        BEGUN.set()
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        return {"late": True}

    root = agent(Scripted.saying(call("ignores", "c1"), "Second answer."), tools=[ignores])
    async with local_server(root) as server:
        run = await _begun(server)
        await server.client.post(f"/api/runs/{run}/cancel", timeout=PATIENCE)
        before = len(await server.entries(run))
        assert (await _said(server)).outcome == "finished"
        go_on.set()
        await _nothing_is_abandoned(server)
        assert len(await server.entries(run)) == before
        assert "late" not in str(await server.session())


async def _nothing_is_abandoned(server: LocalServer) -> None:
    """Wait until the code of abandoned runs has ended, too."""
    async with asyncio.timeout(PATIENCE):
        while server.context.runs.abandoned:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


async def _begun(server: LocalServer) -> str:
    """Start a run that does not end by itself; return it once its code runs."""
    url = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"
    await server.client.post(url)
    origin = Origin(app=APP, user=USER, session=SESSION)
    source = RunRequest(run=RunId(""), origin=origin, message=types.UserContent("go"))
    run = await server.context.runs.start(
        origin,
        "refuse",
        lambda run: RunnerSource(
            server.runner,
            structs.replace(source, run=run),
            report=server.reports.append,
            nodes=True,
        ),
    )
    assert await asyncio.to_thread(BEGUN.wait, PATIENCE), "the code has not begun"
    return run


@pytest.mark.parametrize("raised", sorted(RAISED.keys() - {"StopIteration", "unspeakable"}))
async def test_whatever_a_tool_of_a_live_run_raises(raised: str) -> None:
    """It fails the run, or is the tool's error for the model, which goes on; nothing else ends."""
    do, code = RAISED[raised]

    async def work() -> None:
        """Work."""
        await asyncio.sleep(0)
        do()

    script = calling(Call("work"), then="Done.")
    async with live(runner_of(scripted_agent(script, [work]))) as server:
        await server.say("go")
        done = asyncio.create_task(
            server.until(
                lambda record: (
                    isinstance(record, RunEnded) or bool(event_of(record).get("turnComplete"))
                )
            )
        )
        last = await asyncio.wait_for(done, PATIENCE)
        if isinstance(last, RunEnded):
            assert (last.outcome, last.code) == ("failed", code or last.code)
        else:
            assert raised in ("StopAsyncIteration",)
