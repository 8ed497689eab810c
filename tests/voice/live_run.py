"""A live run on a stage: real Runner, real source, real recorder and log; no socket, no clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from tests.patience import PATIENCE

from adk_prism.errors import Diagnostic
from adk_prism.log.entry import AgentEvent, Entry, Origin, Record, RunEnded, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.models import Script, ScriptedModel
from adk_prism.runs.recorder import RunRecorder
from adk_prism.voice.run_context import LiveCall, LiveOptions
from adk_prism.voice.source import LiveSource

ORIGIN = Origin(app="app", user="user", session="session")
RUN = RunId("run-1")


class LiveRun:
    """One live run, and what it has said."""

    def __init__(
        self, source: LiveSource, log: MemoryLog, runner: Runner, recorder: RunRecorder
    ) -> None:
        self.source = source
        self.recorder = recorder
        self.log = log
        self.runner = runner
        self.reports: list[Diagnostic] = []
        self.sound = bytearray()
        source.listener = lambda piece: self.sound.extend(piece.pcm)

    async def say(self, text: str) -> None:
        await self.source.say(types.UserContent(text))

    async def until(self, wanted: Callable[[Record], bool], count: int = 1) -> Record:
        """Wait until the log holds that many such records; return the last of them."""
        left = count
        async with asyncio.timeout(PATIENCE), aclosing(self.log.read(RUN, follow=True)) as batches:
            async for batch in batches:
                for entry in batch:
                    left -= wanted(entry.record)
                    if not left:
                        return entry.record
        raise AssertionError("the run ended first")

    async def until_done(self, count: int = 1) -> None:
        """Wait until that many turns are complete."""
        await self.until(lambda record: bool(event_of(record).get("turnComplete")), count)

    async def entries(self) -> list[Entry]:
        async with aclosing(self.log.read(RUN)) as batches:
            return [entry async for batch in batches for entry in batch]

    async def events(self) -> list[dict[str, Any]]:
        return [event for entry in await self.entries() if (event := event_of(entry.record))]

    async def ended(self) -> RunEnded:
        record = await self.until(lambda record: isinstance(record, RunEnded))
        assert isinstance(record, RunEnded)
        return record


def event_of(record: Record) -> dict[str, Any]:
    """Return an event; for any other record, an empty one."""
    return json.loads(record.event) if isinstance(record, AgentEvent) else {}


def is_call(record: Record) -> bool:
    return any("functionCall" in part for part in parts_of(record))


def is_answer(record: Record) -> bool:
    return any("functionResponse" in part for part in parts_of(record))


def parts_of(record: Record) -> list[dict[str, Any]]:
    return (event_of(record).get("content") or {}).get("parts") or []


def answers(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what each call was answered, by its id."""
    parts = [part for event in events for part in (event.get("content") or {}).get("parts") or []]
    found = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return {answer["id"]: answer["response"] for answer in found}


def runner_of(agent: LlmAgent) -> Runner:
    app = App(name="app", root_agent=agent)
    services = {"session_service": InMemorySessionService()}
    return Runner(app=app, artifact_service=InMemoryArtifactService(), **services)


def scripted_agent(script: Script, tools: list[Any], delay: float = 0.0) -> LlmAgent:
    model = ScriptedModel(model="scripted", script=script, delay=delay)
    return LlmAgent(name="voice", model=model, tools=tools)


@asynccontextmanager
async def live(runner: Runner, **options: Any) -> AsyncIterator[LiveRun]:
    """Run an agent live; it is ended with the block, and nothing of it is left."""
    await runner.session_service.create_session(
        app_name="app", user_id="user", session_id="session"
    )
    before = asyncio.all_tasks()
    reports: list[Diagnostic] = []
    call = LiveCall(run=RUN, origin=ORIGIN, invocation="e-1", options=LiveOptions(**options))
    source = LiveSource(runner, call, report=reports.append)
    log = MemoryLog()
    await log.open()
    recorder = RunRecorder(log, RUN, source, reports.append)
    recording = asyncio.create_task(recorder.record())
    stage = LiveRun(source, log, runner, recorder)
    stage.reports = reports
    try:
        await recorder.started
        yield stage
    finally:
        source.close()
        async with asyncio.timeout(PATIENCE):
            await recording
    async with asyncio.timeout(PATIENCE):
        while left := asyncio.all_tasks() - before - {asyncio.current_task()}:
            await asyncio.wait(left)
