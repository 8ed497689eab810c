"""A replica is gone in the middle of a run: another one goes on with it, or says that it cannot."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools import FunctionTool, ToolContext
from redis.asyncio import Redis
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import ORIGIN, begin, ended, owns, replica, said, vanish
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import agent

from adk_prism.adk.tools import idempotency_key, idempotent
from adk_prism.errors import Diagnostic
from adk_prism.features.redis.connection import Keys
from adk_prism.log.entry import AgentEvent, RunEnded, RunId, RunTakenOver

Json = dict[str, Any]


async def test_a_text_goes_on(redis: RedisServer, tmp_path: Path) -> None:
    """The model is asked again; the run has one end, the message each word once, the session one answer."""
    dying, surviving = Scripted.saying(asyncio.Event()), Scripted.saying("Once upon a time. ")
    async with (
        replica(agent(dying), redis, tmp_path) as one,
        replica(agent(surviving), redis, tmp_path) as two,
    ):
        run = await begin(one, custom_metadata={"tag": "x"})
        await one.reaches(run, b"Once")
        await vanish(one)
        assert await ended(two, run) == "finished"
        entries = await two.entries(run)
        events = [json.loads(e.record.event) for e in entries if isinstance(e.record, AgentEvent)]
        assert {event["customMetadata"]["tag"] for event in events} == {"x"}
        assert [entry.cursor for entry in entries] == list(range(1, len(entries) + 1))
        assert [e.record.epoch for e in entries if isinstance(e.record, RunTakenOver)] == [1]
        assert [e.cursor for e in entries if isinstance(e.record, RunEnded)] == [len(entries)]
        question, answer = await two.messages()
        assert question["parts"] == [{"type": "text", "text": "hello"}]
        assert said(answer) == ["Once upon a time. "]
        stored = (await two.session())["events"]
        assert [e["author"] for e in stored if "content" in e] == ["user", "agent"]


async def test_an_app_that_cannot_resume(redis: RedisServer, tmp_path: Path) -> None:
    """The run fails, and says why; the conversation goes on."""
    dying, surviving = Scripted.saying(asyncio.Event()), Scripted.saying("Here I am.")
    async with (
        replica(agent(dying), redis, tmp_path, resumable=False) as one,
        replica(agent(surviving), redis, tmp_path, resumable=False) as two,
    ):
        run = await begin(one)
        await one.reaches(run, b"Once")
        await vanish(one)
        assert await ended(two, run) == "failed"
        last = (await two.entries(run))[-1].record
        assert isinstance(last, RunEnded)
        assert last.code == "owner_lost"
        assert await ended(two, await begin(two)) == "finished"


class Counter:
    """A tool that counts its calls, and can be cut off in one."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.reached = asyncio.Event()

    def tools(self, *, marked: bool) -> list[Any]:
        async def cut(tool_context: ToolContext) -> Json:
            """Stand still."""
            self.keys.append(idempotency_key(tool_context))
            self.reached.set()
            await asyncio.Event().wait()
            return {}

        async def whole(tool_context: ToolContext) -> Json:
            """Count."""
            self.keys.append(idempotency_key(tool_context))
            return {"counted": True}

        cut.__name__ = whole.__name__ = "work"
        return [idempotent(cut), idempotent(whole)] if marked else [cut, whole]


@pytest.mark.parametrize("marked", [False, True], ids=["plain", "idempotent"])
@pytest.mark.parametrize("policy", ["retry", "fail", "ask"])
async def test_a_call_in_doubt(
    redis: RedisServer, tmp_path: Path, policy: str, marked: bool
) -> None:
    """It is named in the record, and repeated, answered with an error or asked about; one that says that
    it may be repeated always is, with the same key."""
    counter = Counter()
    cut, whole = counter.tools(marked=marked)
    dying, surviving = Scripted.saying(call("work", "c1")), Scripted.saying("Done.")
    async with (
        replica(agent(dying, tools=[cut]), redis, tmp_path, on_crash=policy) as one,
        replica(agent(surviving, tools=[whole]), redis, tmp_path, on_crash=policy) as two,
    ):
        run = await begin(one)
        await counter.reached.wait()
        await vanish(one)
        outcome = await ended(two, run)
        entries = await two.entries(run)
        [taken] = [e.record for e in entries if isinstance(e.record, RunTakenOver)]
        assert taken.in_doubt == ["c1"]
        answer = (await two.messages())[-1]
        [part] = [part for part in answer["parts"] if "toolCallId" in part]
        runs_again = marked or policy == "retry"
        assert len(counter.keys) == 1 + runs_again
        assert len(set(counter.keys)) == 1
        if policy == "ask" and not marked:
            assert (outcome, part["state"]) == ("waiting", "approval-requested")
            approved = {**part["approval"], "approved": False}
            answered = {**part, "state": "approval-responded", "approval": approved}
            parts = [answered if p is part else p for p in answer["parts"]]
            body = {"id": "chat", "messages": [{**answer, "parts": parts}]}
            rest = await two.client.post("/api/chat/app", json=body)
            assert (rest.status_code, len(counter.keys)) == (200, 1)
        else:
            state = "output-available" if runs_again else "output-error"
            assert (outcome, part["state"]) == ("finished", state)


async def test_a_call_that_kills_twice(redis: RedisServer, tmp_path: Path) -> None:
    """Whoever runs it dies of it: the second takeover inside the same call is the end of the run."""
    counter = Counter()
    cut, _ = counter.tools(marked=False)
    first, second = Scripted.saying(call("work", "c1")), Scripted.saying(call("work", "c1"))
    async with (
        replica(agent(first, tools=[cut]), redis, tmp_path) as one,
        replica(agent(second, tools=[cut]), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await counter.reached.wait()
        counter.reached.clear()
        await vanish(one)
        await counter.reached.wait()
        async with replica(agent(Scripted(), tools=[cut]), redis, tmp_path) as three:
            await vanish(two)
            assert await ended(three, run) == "failed"
            entries = await three.entries(run)
            last = entries[-1].record
            assert isinstance(last, RunEnded)
            assert last.code == "owner_lost"
            assert len([e for e in entries if isinstance(e.record, RunTakenOver)]) == 1
            assert len(counter.keys) == 2


async def test_a_run_that_only_waits_for_a_person(redis: RedisServer, tmp_path: Path) -> None:
    """Nothing is asked twice: it waits on, and is answered at another replica."""

    async def erase() -> Json:
        """Erase it."""
        return {"erased": True}

    gated = FunctionTool(erase, require_confirmation=True)
    model = Scripted.saying(call("erase", "c1"))
    async with (
        replica(agent(model, tools=[gated]), redis, tmp_path) as one,
        replica(agent(Scripted.saying("Gone."), tools=[gated]), redis, tmp_path) as two,
    ):
        run = await begin(one)
        assert await ended(one, run) == "waiting"
        answer = (await two.messages())[-1]
        [part] = [part for part in answer["parts"] if "toolCallId" in part]
        approved = {**part["approval"], "approved": True}
        answered = {**part, "state": "approval-responded", "approval": approved}
        parts = [answered if p is part else p for p in answer["parts"]]
        body = {"id": "chat", "messages": [{**answer, "parts": parts}]}
        posts = [
            two.client.post("/api/chat/app", json=body),
            one.client.post("/api/chat/app", json=body),
        ]
        statuses = [answer.status_code for answer in await asyncio.gather(*posts)]
        assert sorted(statuses) == [200, 409], "a question is answered once, wherever"


async def test_a_run_that_brings_everybody_down(redis: RedisServer, tmp_path: Path) -> None:
    """After some takeovers nobody tries again."""
    async with replica(agent(Scripted.saying(asyncio.Event())), redis, tmp_path) as one:
        run = await begin(one)
        await one.reaches(run, b"Once")
        await vanish(one)
    for _ in range(5):
        async with replica(agent(Scripted.saying(asyncio.Event())), redis, tmp_path) as next_one:
            await owns(next_one, run)
            await vanish(next_one)
    async with replica(agent(Scripted.saying("Never said.")), redis, tmp_path) as last:
        assert await ended(last, run) == "failed"


async def test_a_replica_that_goes_down_hands_over(redis: RedisServer, tmp_path: Path) -> None:
    """What does not end in time goes on elsewhere, without an abort in its history."""
    dying, surviving = Scripted.saying(asyncio.Event()), Scripted.saying("Once upon a time. ")
    async with (
        replica(agent(dying), redis, tmp_path) as one,
        replica(agent(surviving), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await one.reaches(run, b"Once")
        await one.context.lifecycle.drain(0.2)
        assert await ended(two, run) == "finished"
        assert said((await two.messages())[-1]) == ["Once upon a time. "]


async def test_planned_restarts_inside_a_call(redis: RedisServer, tmp_path: Path) -> None:
    """A tool that takes longer than any replica may wait is handed on, again and again, and ends at last."""
    counter = Counter()
    cut, whole = counter.tools(marked=False)
    model = Scripted.saying(call("work", "c1"))
    async with (
        replica(agent(model, tools=[cut]), redis, tmp_path) as one,
        replica(agent(Scripted(), tools=[cut]), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await counter.reached.wait()
        counter.reached.clear()
        await one.context.lifecycle.drain(0.1)
        await asyncio.wait_for(counter.reached.wait(), PATIENCE)
        last = Scripted.saying("Done.")
        async with replica(agent(last, tools=[whole]), redis, tmp_path) as three:
            await two.context.lifecycle.drain(0.1)
            assert await ended(three, run) == "finished"
            entries = await three.entries(run)
            taken = [e.record for e in entries if isinstance(e.record, RunTakenOver)]
            assert [(each.planned, each.in_doubt) for each in taken] == [(True, ["c1"])] * 2


@pytest.mark.parametrize("claim", ["stop", "interrupt"])
async def test_a_run_without_an_owner_that_is_not_to_go_on(
    claim: str, redis: RedisServer, tmp_path: Path
) -> None:
    """It is cancelled only if somebody stops it; a newer message names the cause. The log has what the
    session has of it."""
    reached = asyncio.Event()

    async def hold(callback_context: CallbackContext) -> None:
        reached.set()
        await asyncio.Event().wait()

    def root() -> LlmAgent:
        return agent(Scripted.saying("Stored."), after_agent_callback=hold)

    async with replica(root(), redis, tmp_path) as one:
        run = RunId(await begin(one))
        await reached.wait()
        await vanish(one)
        if claim == "interrupt":  # before anybody takes it over
            async with Redis.from_url(redis.url) as store:
                await store.set(Keys("prism").look, "nobody looks", px=60_000)
        async with replica(root(), redis, tmp_path) as two:
            if claim == "stop":
                assert (await two.context.runs.canceller.stop(ORIGIN)).found
            else:
                await two.context.runs.locks.acquire(ORIGIN, "interrupt", lambda: None)
                await two.context.runs.locks.release(ORIGIN)
            last = (await two.entries(run))[-1].record
            assert isinstance(last, RunEnded)
            expected = ("cancelled", "") if claim == "stop" else ("failed", "owner_lost")
            assert (last.outcome, last.code) == expected


async def test_a_run_of_a_newer_version(redis: RedisServer, tmp_path: Path) -> None:
    """Who cannot read it leaves it to one who can, tells the operator once, and goes on with others."""
    async with replica(agent(Scripted.saying(asyncio.Event())), redis, tmp_path) as one:
        run = await begin(one)
        await one.reaches(run, b"Once")
        await vanish(one)
        before = await one.context.log.summary(RunId(run))
    async with Redis.from_url(redis.url) as store:
        keys = Keys("prism").run(RunId(run))
        entry = {"k": "RunHalved", "t": "1.0", "d": "{}"}
        await store.xadd(keys.entries, entry, id=f"{before.cursor + 1}-1")
        await store.hset(keys.head, "cursor", str(before.cursor + 1))
    async with replica(agent(Scripted.saying()), redis, tmp_path) as two:
        takeovers = two.context.recording.takeovers

        def told() -> list[Diagnostic]:
            return [report for report in two.reports if report.kind == "takeover failed"]

        async with asyncio.timeout(PATIENCE):
            while not told():  # for as long as the look of the one before counts for all
                assert await takeovers.look() == []
        assert [await takeovers.look() for _ in range(3)] == [[], [], []]
        assert len(told()) == 1
        assert "RunHalved" in told()[0].cause
        assert (await two.context.log.summary(RunId(run))).epoch == before.epoch


async def test_a_replica_that_goes_down_alone_serves_to_the_end(
    redis: RedisServer, tmp_path: Path
) -> None:
    """Nobody else could serve its viewers: they are sent the rest of a run that ends in time."""
    goes_on = asyncio.Event()

    async def hold() -> dict[str, bool]:
        """Wait."""
        await goes_on.wait()
        return {"held": True}

    model = Scripted.saying(call("hold", "c1"), "The end.")
    async with replica(agent(model, tools=[hold]), redis, tmp_path) as one:
        run = await begin(one)
        await one.reaches(run, b"hold")
        watching = asyncio.create_task(one.client.get(f"/api/runs/{run}/stream"))
        async with asyncio.timeout(PATIENCE):
            while not one.context.streams.broadcaster.viewers():  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0)
        draining = asyncio.create_task(one.context.lifecycle.drain(PATIENCE))
        while not one.context.draining:  # noqa: ASYNC110 - a turn of the loop
            await asyncio.sleep(0)
        goes_on.set()
        await draining
        assert watching.done(), "the drain waits for those who watch"
        assert "The end." in watching.result().text
        assert await ended(one, run) == "finished"
