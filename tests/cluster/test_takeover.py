"""A replica is gone in the middle of a run: another one goes on with it, or says that it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools import FunctionTool, ToolContext
from tests.cluster.stage import ended, replica, vanish
from tests.redis_server import RedisServer
from tests.server.staged import APP, SESSION, USER, Stage, agent
from tests.source.scripted import Scripted, call

from adk_prism.runlog.entry import AgentEvent, RunTakenOver
from adk_prism.source.doubt import idempotency_key, idempotent

Json = dict[str, Any]
PATH = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"


async def begin(stage: Stage, text: str = "hello") -> str:
    """Start a run and do not wait for its end; return it."""
    await stage.client.post(PATH)
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    run = await stage.context.runs.start(*_started(stage, message))
    return str(run)


def _started(stage: Stage, message: Json) -> Any:
    from adk_prism.runlog.entry import Origin
    from adk_prism.source.request import RunRequest, read_content

    origin = Origin(app=APP, user=USER, session=SESSION)
    content = read_content(b'{"role":"user","parts":[{"text":"hello"}]}')

    def make(run: str) -> Any:
        return stage.context.conversations.source(
            RunRequest(run=run, origin=origin, message=content)
        )

    return origin, "refuse", make


def texts(entries: Any) -> str:
    """Return what the deltas of a stream say."""
    return "".join(entries)


async def test_a_text_goes_on(redis: RedisServer, tmp_path: Path) -> None:
    """The model's call is made again; the run has one end, and its message is whole."""
    reached = asyncio.Event()
    dying, surviving = Scripted.saying(reached), Scripted.saying("Once upon a time.")
    async with (
        replica(agent(dying), redis, tmp_path) as one,
        replica(agent(surviving), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await reached.wait()
        await vanish(one)
        result = await ended(two, run)
        for e in await two.entries(run): print(e.cursor, e.record)
        print(await two.context.log.summary(run), two.reports, one.reports)
        assert result == "finished"
        entries = await two.entries(run)
        assert [e.cursor for e in entries] == list(range(1, len(entries) + 1))
        assert [e.record.epoch for e in entries if isinstance(e.record, RunTakenOver)] == [1]
        [question, answer] = await two.messages()
        said = [part["text"] for part in answer["parts"] if part["type"] == "text"]
        assert said == ["Once upon a time. "] or said == ["Once upon a time."], answer
        assert question["parts"] == [{"type": "text", "text": "hello"}]
        stored = (await two.session())["events"]
        assert [event["author"] for event in stored] == ["user", "agent", "agent"][: len(stored)]
