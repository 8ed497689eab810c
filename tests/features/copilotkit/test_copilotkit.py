"""CopilotKit's runtime wire: what its client asks for, at one address each or all at one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from tests.adk.scripted import Scripted, call
from tests.server.ag_ui.thread import Thread, events, of_type, run_input, text_of, user
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism.server import throttling

Json = dict[str, Any]
BASE = "/api/copilotkit"

Way = Callable[[LocalServer, str, Json, Json], Awaitable[httpx.Response]]


async def by_address(server: LocalServer, method: str, params: Json, body: Json) -> httpx.Response:
    """Ask at the operation's own address."""
    if method == "info":
        return await server.client.get(f"{BASE}/info")
    path = f"{BASE}/agent/{params['agentId']}/{method.removeprefix('agent/')}"
    thread = f"/{params['threadId']}" if "threadId" in params else ""
    return await server.client.post(path + thread, json=body)


async def by_envelope(server: LocalServer, method: str, params: Json, body: Json) -> httpx.Response:
    """Ask at the base address."""
    return await server.client.post(BASE, json={"method": method, "params": params, "body": body})


WAYS: dict[str, Way] = {"address": by_address, "envelope": by_envelope}
way = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)


@way
async def test_info_names_the_apps_and_a_default(ask: Way) -> None:
    async with local_server(agent(Scripted.saying())) as server:
        found = (await ask(server, "info", {}, {})).json()
        assert found["mode"] == "sse"
        assert sorted(found["agents"]) == [APP, "default"]
        assert found["agents"][APP]["name"] == APP
        assert found["threadEndpoints"]["list"] is True
        assert found["threadEndpoints"]["mutations"] is False


@way
async def test_an_agent_runs_and_a_page_comes_back_to_its_thread(ask: Way) -> None:
    async with local_server(agent(Scripted.saying("Hello."))) as server:
        body = run_input(user("Hi"), run="r1", protocolVersion=None)
        found = events(await ask(server, "agent/run", {"agentId": "default"}, body))
        assert text_of(found) == "Hello."
        assert found[0]["runId"] == "r1"
        body = run_input(run="r2", protocolVersion=None)
        found = events(await ask(server, "agent/connect", {"agentId": APP}, body))
        (snapshot,) = of_type(found, "MESSAGES_SNAPSHOT")
        assert [m["content"].strip() for m in snapshot["messages"]] == ["Hi", "Hello."]


@way
async def test_a_run_is_stopped_by_its_id_or_whatever_it_is(ask: Way) -> None:
    begun = asyncio.Event()
    async with local_server(agent(Scripted.saying(begun))) as server:
        body = run_input(user("Hi"), run="mine", protocolVersion=None)
        running = asyncio.create_task(ask(server, "agent/run", {"agentId": APP}, body))
        await begun.wait()
        where = {"agentId": APP, "threadId": SESSION}
        other = (await ask(server, "agent/stop", where, {"runId": "other"})).json()
        assert other["stopped"] is False
        told = (await ask(server, "agent/stop", where, {"runId": "mine"})).json()
        assert (told["stopped"], told["interrupt"]["code"]) == (True, "STOPPED")
        assert events(await running)[-1]["code"] == "STOPPED"
        assert (await ask(server, "agent/stop", where, {})).json()["stopped"] is False
        assert (await ask(server, "agent/stop", where, {"runId": 5})).status_code == 400


@way
async def test_an_agent_that_is_not_there(ask: Way) -> None:
    async with local_server(agent(Scripted.saying())) as server:
        body = run_input(user("Hi"), run="r1")
        for method in ("agent/run", "agent/connect"):
            assert (await ask(server, method, {"agentId": "none"}, body)).status_code == 404


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"method": "none"},
        {"method": 5},
        {"method": "agent/run", "params": []},
        {"method": "agent/run", "params": {}, "body": {}},
        {"method": "agent/stop", "params": {"agentId": APP}},
    ],
)
async def test_an_envelope_of_nothing_is_refused(envelope: Json) -> None:
    async with local_server(agent(Scripted.saying())) as server:
        answer = await server.client.post(BASE, json=envelope)
        assert answer.status_code == 400
        assert "must be" in answer.json()["detail"]


async def test_threads_are_listed_and_looked_into() -> None:
    model = Scripted.saying(call("count", "c-count-0123456789"), "Counted.", "Other.")
    async with local_server(agent(model)) as server:
        await Thread(server).run(user("Count\n please"))
        body = run_input(user("Else"), run="r9", thread="second")
        await server.client.post(f"/api/ag-ui/{APP}", json=body)

        listed = (await server.client.get(f"{BASE}/threads?agentId={APP}&limit=50")).json()
        assert listed["nextCursor"] is None
        assert [(t["id"], t["name"], t["agentId"]) for t in listed["threads"]] == [
            ("second", "Else", APP),
            (SESSION, "Count please", APP),
        ]
        assert listed["threads"][0]["createdAt"].endswith("Z")
        one = (await server.client.get(f"{BASE}/threads?agentId=default&limit=1")).json()
        assert [t["agentId"] for t in one["threads"]] == ["default"]

        where = f"{BASE}/threads/{SESSION}"
        messages = (await server.client.get(f"{where}/messages")).json()["messages"]
        assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"]
        assert messages[1]["toolCalls"][0]["name"] == "count"
        found = (await server.client.get(f"{where}/events")).json()["events"]
        assert (found[0]["type"], found[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
        assert (await server.client.get(f"{where}/state")).json() == {"state": {"count": 1}}
        for what in ("messages", "events", "state"):
            answer = await server.client.get(f"{BASE}/threads/none/{what}")
            assert answer.status_code == 404


async def test_large_threads_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller's requests for large threads wait for each other, and more of them are refused."""
    monkeypatch.setattr(throttling, "HEAVY", 1)
    async with local_server(agent(Scripted.saying("Hello."))) as server:
        await Thread(server).run(user("Hi"))
        where = f"{BASE}/threads/{SESSION}"
        connect = f"/api/ag-ui/{APP}/connect"
        asked = [
            each
            for n in range(4)
            for each in (
                server.client.get(f"{where}/messages"),
                server.client.get(f"{where}/events"),
                server.client.post(connect, json=run_input(run=f"c{n}")),
            )
        ]
        answers = await asyncio.gather(*asked)
        assert {answer.status_code for answer in answers} == {200, 429}
        refused = [answer for answer in answers if answer.status_code == 429]
        assert {answer.request.url.path for answer in refused} >= {f"{where}/events", connect}
        assert all(answer.headers["retry-after"] for answer in refused)


async def test_a_page_may_name_its_user_in_its_properties() -> None:
    async with local_server(agent(Scripted.saying("Hello."))) as server:
        props = {"forwardedProps": {"userId": "ann"}}
        body = run_input(user("Hi"), run="r1", **props)
        await server.client.post(f"{BASE}/agent/{APP}/run", json=body)
        mine = await server.client.post(
            f"{BASE}/agent/{APP}/connect", json=run_input(run="c", **props)
        )
        assert of_type(events(mine), "MESSAGES_SNAPSHOT")
        other = await server.client.post(f"{BASE}/agent/{APP}/connect", json=run_input(run="c"))
        assert events(other) == []
        listed = (await server.client.get(f"{BASE}/threads?userId=ann")).json()["threads"]
        assert [thread["id"] for thread in listed] == [SESSION]
