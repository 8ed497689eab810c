"""Short ways to build a Runner, run it through a source and look at what came."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.workflow import BaseNode
from google.genai import types

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.adk.tools import DenialReasonPlugin
from adk_prism.errors import Diagnostic, Report, ignore
from adk_prism.log.entry import AgentEvent, Origin, Record, RunStarted

ORIGIN = Origin(app="app", user="u", session="s")


def say(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


async def new_runner(
    root: BaseNode,
    service: BaseSessionService | None = None,
    *,
    resumable: bool = False,
    state: dict[str, Any] | None = None,
) -> Runner:
    """Return a Runner whose session `ORIGIN` exists."""
    service = service or InMemorySessionService()
    app = App(
        name=ORIGIN.app,
        root_agent=root,
        plugins=[DenialReasonPlugin()],
        resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
    )
    await Sessions(service).create(ORIGIN, state)
    return Runner(app=app, session_service=service, artifact_service=InMemoryArtifactService())


def source(runner: Runner, request: dict[str, Any], report: Report = ignore) -> RunnerSource:
    return RunnerSource(
        runner, RunRequest(**{"run": "run-1", "origin": ORIGIN, **request}), report=report
    )


async def drain(records: AsyncIterator[Record]) -> tuple[RunStarted, list[dict[str, Any]]]:
    """Return a run's first record and its events."""
    every = [record async for record in records]
    started, *rest = every
    assert isinstance(started, RunStarted)
    assert all(isinstance(record, AgentEvent) for record in rest)
    return started, [json.loads(r.event) for r in rest if isinstance(r, AgentEvent)]


async def run(
    runner: Runner, report: Report = ignore, **request: Any
) -> tuple[RunStarted, list[dict[str, Any]]]:
    return await drain(source(runner, request, report).records())


async def history(runner: Runner) -> list[Event]:
    return (await Sessions(runner.session_service).get(ORIGIN)).events


async def state(runner: Runner) -> dict[str, Any]:
    return await Sessions(runner.session_service).state(ORIGIN)


def text_of(events: list[dict[str, Any]]) -> str:
    """Return what was said in events that are not partial."""
    return "".join(
        part.get("text", "")
        for event in events
        if not event.get("partial")
        for part in event.get("content", {}).get("parts", [])
    )


class Reports(list[Diagnostic]):
    """Collects what the operator is told."""

    def __call__(self, diagnostic: Diagnostic) -> None:
        self.append(diagnostic)
