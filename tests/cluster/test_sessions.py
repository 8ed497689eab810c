"""One run per session and one per key, whichever replica is asked; and every replica can stop every run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted
from tests.cluster.replica import begin, ended, replica, vanish
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server import cut_off
from tests.server.local_server import LocalServer, agent
from tests.server.test_cut_off_changes import check_next

OUTCOMES = {
    "interrupt": ["cancelled", "finished"],
    "refuse": ["finished"],
    "wait": ["finished", "finished"],
}


class Door:
    """Where a tool stands until it is let through."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def hold(self) -> dict[str, Any]:
        """Stand still."""
        self.reached.set()
        await self.opened.wait()
        return {"held": True}


async def outcomes(server: LocalServer) -> list[str | None]:
    listed = await server.context.log.list(app="app")
    return [run.outcome for run in listed]


def say(server: LocalServer, text: str, **headers: str) -> Any:
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": "chat", "messages": [message]}
    return server.client.post("/api/chat/app", json=body, headers=headers)


@pytest.mark.parametrize("policy", OUTCOMES)
async def test_a_second_message_at_another_replica(
    redis: RedisServer, tmp_path: Path, policy: str
) -> None:
    """The policy holds across replicas; never two runs at once, never a failure."""
    from tests.adk.scripted import call

    door = Door()
    first = Scripted.saying(call("hold", "c1"), "One.")
    async with (
        replica(agent(first, tools=[door.hold]), redis, tmp_path, chat_busy=policy) as one,
        replica(agent(Scripted.saying("Two."), tools=[door.hold]), redis, tmp_path, chat_busy=policy) as two,
    ):  # fmt: skip
        run = await begin(one)
        await door.reached.wait()
        second = asyncio.create_task(say(two, "again"))
        if policy == "wait":
            await asyncio.wait([second], timeout=0.3)
            assert not second.done()
            door.opened.set()
        answer = await second
        assert answer.status_code == (409 if policy == "refuse" else 200)
        door.opened.set()
        await ended(one, run)
        assert await outcomes(two) == OUTCOMES[policy]


async def test_a_run_is_cancelled_from_anywhere(redis: RedisServer, tmp_path: Path) -> None:
    """By its id, or by its chat."""
    model = Scripted.saying(asyncio.Event(), asyncio.Event())
    async with (
        replica(agent(model), redis, tmp_path) as one,
        replica(agent(Scripted.saying()), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await two.reaches(run, b"Once")
        told = await two.client.post(f"/api/runs/{run}/cancel")
        assert (told.status_code, told.json()["toolRunning"]) == (200, None)
        assert await ended(two, run) == "cancelled"
        again = await two.client.post(f"/api/runs/{run}/cancel")
        assert again.json()["outcome"] == "cancelled"
        run = await begin(one)
        await two.reaches(run, b"Once")
        assert (await stopped(two))["stopped"] is True
        assert await ended(two, run) == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while (await stopped(two))["stopped"]:  # the session is let go after the run's end
                pass
        nothing = {"stopped": False, "toolRunning": False, "runningTools": []}
        assert await stopped(two) == nothing


async def stopped(server: LocalServer) -> dict[str, Any]:
    answer = await server.client.post("/api/chat/app/chat/stop")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_key_holds_everywhere(redis: RedisServer, tmp_path: Path) -> None:
    """Twenty requests at two replicas are one run, and all get its stream."""
    async with (
        replica(agent(Scripted.saying("One.")), redis, tmp_path) as one,
        replica(agent(Scripted.saying("One.")), redis, tmp_path) as two,
    ):
        posts = [say(server, "hello", **{"idempotency-key": "k"}) for server in (one, two) * 10]
        answers = await asyncio.gather(*posts)
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.headers["x-prism-run"] for answer in answers}) == 1
        assert len({answer.content for answer in answers}) == 1
        other = await say(two, "other", **{"idempotency-key": "k"})
        assert other.status_code == 422


async def test_an_impatient_message_after_a_death(redis: RedisServer, tmp_path: Path) -> None:
    """What a dead replica left in the session fails with the cause, unless somebody continued it first."""
    async with replica(agent(Scripted.saying(asyncio.Event())), redis, tmp_path) as one:
        run = await begin(one)
        await one.reaches(run, b"Once")
        await vanish(one)
        two_model = Scripted.saying("Two.", "Two.", "Two.")
        async with replica(agent(two_model), redis, tmp_path, chat_busy="interrupt") as two:
            answer = await say(two, "again")
            assert answer.status_code == 200
            assert await ended(two, run) in ("failed", "cancelled", "finished")
            assert (await outcomes(two))[1] == "finished"


async def test_a_change_that_was_cut_off_at_another_replica(
    redis: RedisServer, tmp_path: Path
) -> None:
    """The next message undoes it, wherever it arrives; a replica that comes later finds nothing to do."""
    service, first, second = SqliteSessionService(f"{tmp_path}/sessions.db"), Scripted(), Scripted()
    cut = cut_off.Cut(service)
    async with (
        replica(agent(first), redis, tmp_path, service=service) as one,
        replica(agent(second), redis, tmp_path) as two,
    ):
        chat = await cut_off.begin(one, first)
        cut.after = 3
        assert (await cut_off.CHANGES["restore"](one, chat)).status_code == 503
        await check_next(two, second, chat, "Three.")
        await check_next(one, first, chat, "Two.")
