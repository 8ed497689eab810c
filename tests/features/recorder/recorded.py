"""Runs recorded by the plugin: a Runner that somebody else drives, and the recordings in a folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.workflow import BaseNode
from tests.adk.recorded_runs import RecordedRun
from tests.adk.runs import ORIGIN, Reports, say

from adk_prism.adk.sessions import Sessions
from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.entry import Entry


async def runner_of(root: BaseNode, *plugins: BasePlugin, **more: Any) -> Runner:
    """Return a Runner with these plugins, whose session exists."""
    return await runner_of_app(App(name=ORIGIN.app, root_agent=root, plugins=list(plugins), **more))


async def runner_of_app(app: App) -> Runner:
    """Return a Runner of an app, whose session exists."""
    service = InMemorySessionService()
    await Sessions(service).create(ORIGIN, {"old": 1})
    return Runner(
        app=app,
        app_name=ORIGIN.app,
        session_service=service,
        artifact_service=InMemoryArtifactService(),
    )


def driven(runner: Runner, text: str = "go", **more: Any) -> AsyncGenerator[Event, None]:
    """Return a run's events, as any program asks for them."""
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    where = {"user_id": ORIGIN.user, "session_id": ORIGIN.session}
    return runner.run_async(**{**where, "new_message": say(text), "run_config": config, **more})


def recordings(folder: Path) -> list[list[Entry]]:
    """Return the recordings in a folder, oldest first; a file that was only just made holds none."""
    found = [list(read_run(file)) for file in folder.glob("*.jsonl") if file.stat().st_size]
    return sorted(found, key=lambda entries: entries[0].time)


def seen_in(folder: Path) -> RecordedRun:
    """Return the only recording in a folder, to be looked at."""
    (entries,) = recordings(folder)
    return RecordedRun(entries, Reports())
