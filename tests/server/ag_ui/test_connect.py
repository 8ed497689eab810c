"""A client that comes back to a thread: its past, the run that is on, and what it still asks."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.server.ag_ui.test_interrupts import FIRST, cashier
from tests.server.ag_ui.thread import Thread, events, interrupts, of_type, run_input, text_of, user
from tests.server.staged import APP, agent, staging
from tests.source.scripted import Scripted

Json = dict[str, Any]
CONNECT = f"/api/ag-ui/{APP}/connect"
INPUT = run_input(run="connect")


async def test_a_new_thread_has_nothing() -> None:
    async with staging(agent(Scripted.saying())) as stage:
        assert events(await stage.client.post(CONNECT, json=INPUT)) == []


async def test_the_past_comes_in_order_without_what_was_taken_back() -> None:
    async with staging(agent(Scripted.saying("A.", "B.", "C."))) as stage:
        thread = Thread(stage)
        await thread.run(user("one"))
        await thread.run(user("two"))
        thread.messages = [user("one"), user("three")]
        await thread.run()
        found = events(await stage.client.post(CONNECT, json=INPUT))
        asked = [m["content"] for e in of_type(found, "RUN_STARTED") for m in _said(e)]
        assert asked == ["one", "three"]
        assert text_of(found).split() == ["A.", "C."]
        assert of_type(found, "MESSAGES_SNAPSHOT")[0]["messages"] == []


def _said(event: Json) -> list[Json]:
    found: list[Json] = event.get("input", {}).get("messages", [])
    return found


async def test_open_questions_are_the_last_thing() -> None:
    async with staging(cashier(FIRST, "Paid.")) as stage:
        thread = Thread(stage)
        before = interrupts(await thread.run(user("pay")))
        found = events(await stage.client.post(CONNECT, json=INPUT))
        assert interrupts(found) == before


async def test_the_run_that_is_on_is_followed_to_its_end() -> None:
    begun = asyncio.Event()
    async with staging(agent(Scripted.saying("A.", begun))) as stage:
        thread = Thread(stage)
        await thread.run(user("one"))
        running = asyncio.create_task(thread.post(user("two")))
        await begun.wait()
        following = asyncio.create_task(stage.client.post(CONNECT, json=INPUT))
        await stage.client.post(f"/api/ag-ui/{APP}/chat/stop")
        found = events(await following)
        assert found[-1]["outcome"] == {"type": "cancelled"}
        assert text_of(found) == "A. Once"
        await running
