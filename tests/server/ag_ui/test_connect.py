"""A client that comes back to a thread: its past, the run that is on, and what it still asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.ag_ui.test_interrupts import FIRST, cashier
from tests.server.ag_ui.thread import Thread, events, interrupts, of_type, run_input, text_of, user
from tests.server.local_server import APP, LocalServer, agent, local_server

from adk_prism.protocols.ag_ui import routes as thread_past

Json = dict[str, Any]
CONNECT = f"/api/ag-ui/{APP}/connect"
INPUT = run_input(run="connect")


async def connected(server: LocalServer, **more: Any) -> list[Json]:
    return events(await server.client.post(CONNECT, json={**INPUT, **more}))


def shown(found: list[Json]) -> list[tuple[str, str]]:
    """Return what the only snapshot shows."""
    (snapshot,) = of_type(found, "MESSAGES_SNAPSHOT")
    return [(m["role"], m.get("content", "").strip()) for m in snapshot["messages"]]


async def watched(server: LocalServer, viewers: int) -> None:
    """Wait until so many follow the run that is on."""
    async with asyncio.timeout(PATIENCE):
        while server.context.streams.broadcaster.viewers()["ag-ui"] < viewers:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_a_new_thread_has_nothing() -> None:
    async with local_server(agent(Scripted.saying())) as server:
        assert await connected(server) == []


async def test_the_past_is_a_snapshot_without_what_was_taken_back() -> None:
    async with local_server(
        agent(Scripted.saying(call("count", "c1"), "A.", "B.", "C."))
    ) as server:
        thread = Thread(server)
        await thread.run(user("one"))
        await thread.run(user("two"))
        thread.messages = [user("one"), user("three")]
        await thread.run(run="last", forwardedProps={"parentId": "u-one"})
        found = await connected(server)
        kinds = [event["type"] for event in found]
        assert kinds == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        assert shown(found) == [
            ("user", "one"),
            ("assistant", ""),
            ("tool", '{"count":1}'),
            ("assistant", "A."),
            ("user", "three"),
            ("assistant", "C."),
        ]
        assert found[1]["snapshot"] == {"count": 1}
        assert found[0]["runId"] == found[-1]["runId"] == "last"


async def test_open_questions_are_the_last_thing() -> None:
    async with local_server(cashier(FIRST, "Paid.")) as server:
        thread = Thread(server)
        before = interrupts(await thread.run(user("pay")))
        assert interrupts(await connected(server)) == before
        await thread.run(resume=[{"interruptId": before[0]["id"], "status": "cancelled"}])
        assert (await connected(server))[-1]["outcome"] == {"type": "success"}


async def test_a_run_that_failed_last_is_told_and_one_that_was_stopped_is_not() -> None:
    begun = asyncio.Event()
    async with local_server(agent(Scripted.saying(ValueError("secret"), begun))) as server:
        thread = Thread(server)
        failed = await thread.run(user("one"))
        found = await connected(server)
        assert found[-1] == failed[-1]
        assert "secret" not in str(found)
        running = asyncio.create_task(thread.post(user("two")))
        await begun.wait()
        await server.client.post(f"/api/ag-ui/{APP}/chat/stop")
        await running
        assert (await connected(server, protocolVersion=None))[-1]["type"] == "RUN_FINISHED"


async def test_the_run_that_is_on_is_followed_to_its_end() -> None:
    begun = asyncio.Event()
    async with local_server(agent(Scripted.saying("A.", begun))) as server:
        thread = Thread(server)
        await thread.run(user("one"))
        running = asyncio.create_task(thread.post(user("two")))
        await begun.wait()
        following = asyncio.create_task(connected(server))
        await watched(server, 2)
        await server.client.post(f"/api/ag-ui/{APP}/chat/stop")
        found = await following
        assert found[-1]["outcome"] == {"type": "cancelled"}
        assert shown(found) == [("user", "one"), ("assistant", "A."), ("user", "two")]
        assert text_of(found) == "Once"
        assert events(await running)[-1] == found[-1]


async def test_a_thread_that_fits_no_event_comes_run_by_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_past.ag_ui, "fits", lambda size: size < 100)
    async with local_server(agent(Scripted.saying("A.", "B."))) as server:
        thread = Thread(server)
        await thread.run(user("one"))
        await thread.run(user("two"))
        found = await connected(server)
        assert shown(found) == []
        assert text_of(found).split() == ["A.", "B."]
        said = [e["input"]["messages"][0]["content"] for e in of_type(found, "RUN_STARTED")[1:]]
        assert said == ["one", "two"]


async def test_a_body_without_a_thread_is_refused() -> None:
    async with local_server(agent(Scripted.saying())) as server:
        assert (await server.client.post(CONNECT, json={"runId": "r"})).status_code == 422
        assert (await server.client.post(CONNECT, json={"threadId": ""})).status_code == 400
        other = await server.client.post("/api/ag-ui/none/connect", json=INPUT)
        assert other.status_code == 404
