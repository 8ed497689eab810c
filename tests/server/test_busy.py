"""A second request while a run is active on the session: it interrupts, is refused or waits, as is set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
import pytest
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

Json = dict[str, Any]
Post = Callable[[LocalServer, str], Awaitable[httpx.Response]]
PATH = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"


async def by_chat(server: LocalServer, text: str) -> httpx.Response:
    """Say something as a chat client does."""
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    return await server.client.post(f"/api/chat/{APP}", json={"id": SESSION, "messages": [message]})


async def by_adk(server: LocalServer, text: str, route: str = "/run_sse") -> httpx.Response:
    """Say something as ADK's clients do."""
    return await server.client.post(route, json=body(newMessage={"parts": [{"text": text}]}))


async def by_adk_unstreamed(server: LocalServer, text: str) -> httpx.Response:
    return await by_adk(server, text, "/run")


async def by_studio(server: LocalServer, text: str) -> httpx.Response:
    """Say something as a Studio does."""
    asked = {"input": text, "session_id": SESSION, "user_id": USER}
    return await server.client.post(f"/api/studio/{APP}/stream", json=asked)


def body(**more: Any) -> Json:
    return {"appName": APP, "userId": USER, "sessionId": SESSION, **more}


@dataclass
class Door:
    """Where a tool stands until it is let through."""

    reached: asyncio.Event
    opened: asyncio.Event

    async def hold(self) -> Json:
        """Stand still."""
        self.reached.set()
        await self.opened.wait()
        return {"held": True}


ROUTES: dict[str, tuple[Post, str]] = {
    "chat": (by_chat, "chat_busy"),
    "studio": (by_studio, "chat_busy"),
    "run_sse": (by_adk, "adk_busy"),
    "run": (by_adk_unstreamed, "adk_busy"),
}
OUTCOMES = {
    "interrupt": ["cancelled", "finished"],
    "refuse": ["finished"],
    "wait": ["finished", "finished"],
}


@pytest.mark.parametrize("policy", OUTCOMES)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_second_message(route: str, policy: str) -> None:
    """Never a failure, never two runs at once: the second begins when the first is over, or not at all."""
    say, setting = ROUTES[route]
    door = Door(asyncio.Event(), asyncio.Event())
    model = Scripted.saying(call("hold", "c1"), "One.", "Two.")
    async with local_server(agent(model, tools=[door.hold]), **{setting: policy}) as server:
        await server.client.post(PATH)
        first = asyncio.create_task(say(server, "first"))
        await door.reached.wait()
        second = asyncio.create_task(say(server, "second"))
        if policy != "wait":
            await second  # with the door shut
        door.opened.set()
        answers = [await first, await second]
        refused = policy == "refuse"
        assert [a.status_code for a in answers] == [200, 409 if refused else 200]
        if refused:
            assert answers[1].headers["content-type"] == "application/problem+json"
        runs = await server.context.log.list()
        assert [run.outcome for run in runs] == OUTCOMES[policy]
        for before, after in pairwise(runs):
            assert before.ended is not None
            assert before.ended <= after.started
        said = [e["content"]["parts"][0].get("text") for e in (await server.session())["events"]]
        assert [text for text in said if text in ("first", "second")] == (
            ["first"] if refused else ["first", "second"]
        )


async def by_run(server: LocalServer) -> httpx.Response:
    return await server.client.post("/run_sse", json=body(stateDelta={"mood": "good"}))


async def by_empty_message(server: LocalServer) -> httpx.Response:
    message: Json = {"role": "system", "parts": []}
    asked = body(stateDelta={"mood": "good"}, newMessage=message)
    return await server.client.post("/run_sse", json=asked)


async def by_patch(server: LocalServer) -> httpx.Response:
    return await server.client.patch(PATH, json={"stateDelta": {"mood": "good"}})


@pytest.mark.parametrize("policy", OUTCOMES)
@pytest.mark.parametrize("update", [by_run, by_empty_message, by_patch])
async def test_a_state_change_waits(
    update: Callable[[LocalServer], Awaitable[httpx.Response]], policy: str
) -> None:
    """Whatever is set for messages: it comes after the run, which goes on undisturbed."""
    door = Door(asyncio.Event(), asyncio.Event())
    model = Scripted.saying(call("hold", "c1"), "One.")
    async with local_server(agent(model, tools=[door.hold]), adk_busy=policy) as server:
        await server.client.post(PATH)
        first = asyncio.create_task(by_adk(server, "first"))
        await door.reached.wait()
        change = asyncio.create_task(update(server))
        assert "mood" not in (await server.session())["state"]
        door.opened.set()
        assert [(await first).status_code, (await change).status_code] == [200, 200]
        session = await server.session()
        assert session["state"]["mood"] == "good"
        assert session["events"][-1]["actions"]["stateDelta"] == {"mood": "good"}
        assert {run.outcome for run in await server.context.log.list()} == {"finished"}
        assert len(model.requests) == 2
