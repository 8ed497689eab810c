"""What is counted, refused and shown, in a running server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.scripted import call
from tests.features.budgets.spending import INPUT, OUTPUT, TOTAL, Spending, prices, say, used
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, headers, token_file
from tests.server.local_server import APP, USER, agent, local_server

from adk_prism.features.budgets import limiter as limiting
from adk_prism.log.contract import Retention

OPERATOR = "operator"


def check_refused(answer: httpx.Response, words: str) -> None:
    assert answer.status_code == 429, answer.text
    assert 1 <= int(answer.headers["retry-after"]) <= 24 * 3600
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert "(midnight UTC)" in answer.json()["detail"]


async def test_runs_are_counted_when_they_start() -> None:
    """One too many is refused; another user has a budget of their own; a repeated request is no run."""
    async with local_server(agent(Spending()), budget=("caller runs=2",)) as server:
        for chat in ("one", "two"):
            assert (await say(server, chat)).status_code == 200
        check_refused(await say(server, "three"), "this user is used up: 2 runs a day")
        assert (await say(server, "three", userId="bob")).status_code == 200
        assert await used(server) == [{"runs": 2}]
        assert await used(server, userId="bob") == [{"runs": 1}]


async def test_what_runs_no_agent_is_free() -> None:
    """A state-only update and a rewind; and a start that is refused gives its run back."""
    model = Spending.saying("One.", asyncio.Event())
    async with local_server(agent(model), budget=("caller runs=2",), chat_busy="refuse") as server:
        run = await server.say("hello")
        await server.post_run(stateDelta={"x": 1})
        invocation = (await server.client.get(f"/api/runs/{run}")).json()["invocation"]
        path = f"/apps/{APP}/users/{USER}/sessions/chat/rewind"
        rewound = await server.client.post(path, json={"invocationId": invocation})
        assert rewound.status_code == 200, rewound.text
        assert await used(server) == [{"runs": 1}]
        running = asyncio.create_task(say(server, "busy"))
        async with asyncio.timeout(PATIENCE):
            while len(model.requests) < 2:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        assert await used(server) == [{"runs": 2}]
        await server.client.post(f"/api/chat/{APP}/busy/stop")
        await running


async def test_a_refused_start_gives_its_run_back() -> None:
    """A session that is busy: the run never came to be."""
    model = Spending.saying(asyncio.Event())
    async with local_server(agent(model), budget=("caller runs=5",), chat_busy="refuse") as server:
        running = asyncio.create_task(say(server, "busy"))
        async with asyncio.timeout(PATIENCE):
            while not model.requests:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        assert (await say(server, "busy")).status_code == 409
        assert await used(server) == [{"runs": 1}]
        await server.client.post(f"/api/chat/{APP}/busy/stop")
        await running


@pytest.mark.parametrize("detail", ["off", "summary", "full"])
async def test_tokens_are_counted_however_they_are_recorded(detail: str) -> None:
    """Of two model calls; the run that passes the budget finishes, the next one is refused."""
    model = Spending.saying(call("count", "c-1"), "Done.")
    async with local_server(
        agent(model), budget=(f"caller tokens={TOTAL + 1}",), model_calls=detail
    ) as server:
        answer = await say(server, "one")
        assert "Done." in answer.text
        assert await used(server) == [{"tokens": 2 * TOTAL}]
        check_refused(await say(server, "two"), f"{TOTAL + 1} tokens a day")


async def test_cost_is_counted_by_the_price_list(tmp_path: Path) -> None:
    """To the billionth; a model without a price costs nothing, and the operator is told once."""
    file = prices(tmp_path, scripted={"input": 1.0, "output": 2.0})
    cost = (INPUT * 1.0 + OUTPUT * 2.0) / 1e6
    async with local_server(
        agent(Spending()), budget=(f"app={APP} cost={2 * cost:.9f}",), prices=file
    ) as server:
        for chat in ("one", "two"):
            assert (await say(server, chat)).status_code == 200
        assert await used(server, app=APP) == [{"cost": pytest.approx(2 * cost, abs=1e-12)}]
        check_refused(await say(server, "three"), f"the app '{APP}' is used up: a cost of")
    file = prices(tmp_path, other={"input": 1.0, "output": 2.0})
    async with local_server(agent(Spending()), budget=("cost=1",), prices=file) as server:
        for chat in ("one", "two"):
            assert (await say(server, chat)).status_code == 200
        assert await used(server) == [{"cost": 0}]
        told = [each.detail for each in server.reports if each.kind == "model without a price"]
        assert told == [
            "No budget counts what the model 'scripted' costs: the price list has none for it."
        ]


async def test_failed_and_cancelled_runs_are_billed() -> None:
    """With what they used until then."""
    model = Spending.saying(call("count", "c-1"), RuntimeError("no"), call("count", "c-2"))
    model.then(asyncio.Event())
    async with local_server(agent(model), budget=("caller tokens=1M",)) as server:
        await say(server, "fails")
        assert await used(server) == [{"tokens": TOTAL}]
        running = asyncio.create_task(say(server, "stops"))
        async with asyncio.timeout(PATIENCE):
            while len(model.requests) < 4:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        await server.client.post(f"/api/chat/{APP}/stops/stop")
        await running
        assert await used(server) == [{"tokens": 2 * TOTAL}]


async def test_a_run_that_is_deleted_is_billed() -> None:
    """While it goes on, with its conversation, before anything else can read it."""
    model = Spending.saying(call("count", "c-1"), asyncio.Event())
    async with local_server(agent(model), budget=("caller tokens=1M",)) as server:
        running = asyncio.create_task(say(server, "gone"))
        async with asyncio.timeout(PATIENCE):
            while len(model.requests) < 2:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        path = f"/apps/{APP}/users/{USER}/sessions/gone"
        assert (await server.client.delete(path)).status_code == 200
        await running
        assert await used(server) == [{"tokens": TOTAL}]


async def test_a_fork_is_billed_for_what_is_new() -> None:
    """Not for the copies of the past, nor for the part of a run before its cursor; an upload is free."""
    model = Spending.saying("First.", call("count", "c-1"), "Second.")
    async with local_server(agent(model), resumable=True, budget=("caller tokens=1M",)) as server:
        await server.say("one")
        run = await server.say("two")
        assert await used(server) == [{"tokens": 3 * TOTAL}]
        answered = next(
            entry.cursor
            for entry in await server.entries(run)
            if b"functionResponse" in getattr(entry.record, "event", b"")
        )
        model.then("Again.")
        fork = await server.fork(run, answered)
        await server.entries(fork["run"])
        assert await used(server) == [{"tokens": 4 * TOTAL}]
        model.then("Other.")
        fork = await server.fork(run, answered, newMessage={"parts": [{"text": "else"}]})
        await server.entries(fork["run"])
        assert await used(server) == [{"tokens": 5 * TOTAL}]
        recording = await server.client.get(f"/api/runs/{run}/recording")
        uploaded = await server.client.post(
            "/api/recordings",
            content=recording.content,
            headers={"content-type": "application/jsonl"},
        )
        assert uploaded.status_code in (200, 201), uploaded.text
        assert await used(server) == [{"tokens": 5 * TOTAL}]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_day_ends_and_a_restart_forgets_nothing(kind: str, tmp_path: Path) -> None:
    """Deleting a conversation or its log gives nothing back either."""
    log = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'runs.db'}"
    settings: dict[str, Any] = {"log": log, "budget": ("caller runs=2 tokens=1M",)}
    async with local_server(agent(Spending()), **settings) as server:
        await say(server, "one")
        await server.client.delete(f"/apps/{APP}/users/{USER}/sessions/one")
        assert await used(server) == [{"runs": 1, "tokens": TOTAL}]
        await say(server, "two")
        kept = server.context.recording.log
        await kept.trim(Retention(max_age=0, max_bytes=0), time.time())
        check_refused(await say(server, "three"), "2 runs a day")
    if kind == "memory":
        return
    async with local_server(agent(Spending()), **settings) as server:
        assert await used(server) == [{"runs": 2, "tokens": 2 * TOTAL}]
        check_refused(await say(server, "three"), "2 runs a day")
        now = time.time()
        for each in server.context.limits.limiters:
            if isinstance(each, limiting.BudgetLimiter):
                each.clock = lambda: now + 24 * 3600
        assert await used(server) == [{"runs": 0, "tokens": 0}]
        assert (await say(server, "three")).status_code == 200
        assert await used(server) == [{"runs": 1, "tokens": TOTAL}]
        owners = await server.context.recording.log.side.owners("budget")
        values = await server.context.recording.log.side.list(owners)
        assert len(values) == 1, "accounts of earlier days are removed"


async def test_who_sees_what(tmp_path: Path) -> None:
    """A caller sees their own; what all have used together is for administrators."""
    budget = ("caller runs=9", f"caller app={APP} runs=8", f"app={APP} runs=7", "runs=6")
    async with local_server(
        agent(Spending()), budget=budget, tokens=token_file(tmp_path), admin=(BOB,)
    ) as server:

        async def shown(user: str, **query: str) -> Any:
            answer = await server.client.get("/api/budgets", params=query, headers=headers(user))
            return answer.status_code, [
                (each["user"], each["app"], each["limits"], each["used"])
                for each in answer.json().get("budgets", ())
            ]

        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "x"}]}
        body = {"id": "c", "messages": [message]}
        asked = await server.client.post(f"/api/chat/{APP}", json=body, headers=headers(ANN))
        assert asked.status_code == 200
        own = (ANN, None, {"runs": 9}, {"runs": 1})
        there = (ANN, APP, {"runs": 8}, {"runs": 1})
        assert await shown(ANN) == (200, [own])
        assert await shown(ANN, app=APP) == (200, [own, there])
        assert (await shown(ANN, userId=BOB))[0] == 404
        status, seen = await shown(BOB, userId=ANN, app=APP)
        assert status == 200
        assert len(seen) == 4
        for each in (
            own,
            there,
            (None, APP, {"runs": 7}, {"runs": 1}),
            (None, None, {"runs": 6}, {"runs": 1}),
        ):
            assert each in seen
        assert (await server.client.get("/api/budgets")).status_code == 401
        bad = await server.client.get("/api/budgets", params={"app": "../x"}, headers=headers(ANN))
        assert bad.status_code == 404, bad.text
        metrics = (await server.client.get("/metrics", headers=headers(BOB))).text
        assert 'limit="budget_runs"' not in metrics


async def test_without_budgets_there_are_none() -> None:
    """And without the feature no route."""
    async with local_server(agent(Spending())) as server:
        answer = await server.client.get("/api/budgets")
        assert answer.json() == {"day": None, "ends": None, "budgets": []}
    async with local_server(agent(Spending()), without=("budgets",)) as server:
        assert (await server.client.get("/api/budgets")).status_code == 404
        assert (await say(server, "one")).status_code == 200
