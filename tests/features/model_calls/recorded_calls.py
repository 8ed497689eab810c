"""Short ways to record runs with their model calls, and to read the calls back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from google.adk.agents import BaseAgent
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from tests.adk.runs import ORIGIN, Reports, say

from adk_prism.adk.request import Detail, RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.features.long_sessions.session_cache import SessionCache
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.writer import ModelCallWriter
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import AgentEvent, Entry, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import RunRecorder

Json = dict[str, Any]


class Conversation:
    """Runs of one session, recorded."""

    def __init__(self, log: RunLog, runner: Runner, detail: Detail) -> None:
        self.log = log
        self.runner = runner
        self.reports = Reports()
        self._writer = ModelCallWriter(log, detail, self.reports)
        self.runs: list[RunId] = []

    async def send(self, message: str | types.Content | None = "go", **request: Any) -> list[Json]:
        """Run one turn; return its model calls."""
        run = RunId(f"run-{len(self.runs) + 1}")
        self.runs.append(run)
        said = say(message) if isinstance(message, str) else message
        asked = RunRequest(run=run, origin=ORIGIN, message=said, **request)
        source = RunnerSource(self.runner, asked, report=self.reports, nodes=True)
        await RunRecorder(self.log, run, source, self.reports, None, self._writer).record()
        return await self.calls(run)

    async def calls(self, run: RunId) -> list[Json]:
        """Return the model calls of a run, as JSON."""
        found = await ModelCalls(self.log).of_run(run)
        calls: list[Json] = msgspec.json.decode(msgspec.json.encode(found))
        return calls

    async def entries(self) -> list[Entry]:
        """Return the entries of the last run."""
        return [entry async for batch in self.log.read(self.runs[-1]) for entry in batch]

    async def events(self) -> list[Json]:
        """Return the events of the last run."""
        records = [entry.record for entry in await self.entries()]
        return [
            msgspec.json.decode(record.event)
            for record in records
            if isinstance(record, AgentEvent)
        ]


@asynccontextmanager
async def conversing(
    root: BaseAgent,
    detail: Detail = "full",
    *,
    log: RunLog | None = None,
    plugins: list[BasePlugin] | None = None,
) -> AsyncIterator[Conversation]:
    """Open a log and a session for an agent."""
    service = SessionCache(InMemorySessionService())
    app = App(name=ORIGIN.app, root_agent=root, plugins=plugins or [])
    await Sessions(service).create(ORIGIN)
    log = log or MemoryLog()
    await log.open()
    try:
        yield Conversation(log, Runner(app=app, session_service=service), detail)
    finally:
        await log.close()
