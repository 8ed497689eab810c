"""H: what a turn costs in a long session, as it is run here and as ADK runs it.

One short turn of a scripted agent in a session of 5,000 events in SQLite. ADK's Runner on ADK's service reads
all of them every time. Here they are kept after the first turn, which is not counted; with the cached prefix,
which an app asks for, the rest of ADK's work is as in a new session.
"""

from __future__ import annotations

import asyncio
import gc
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from adk_prism import cache_prefix
from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.features.long_sessions.session_cache import SessionCache
from adk_prism.log.entry import Origin
from benchmarks.rounds import take_turns
from benchmarks.table import Row, millis

EVENTS = 5000
LONG = Origin(app="speaker", user="user", session="long")


class _Echo(BaseLlm):
    """Answers at once, if it was asked with as many contents as there should be."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text="Yes.")]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=len(llm_request.contents), total_token_count=1
            ),
        )


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    # In memory, where there is such a folder: 5,000 commits to a disk take minutes.
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as folder, asyncio.Runner() as loop:
        files = [Path(folder, f"{name}.db") for name in ("adk", "hot", "prefix")]
        loop.run(_fill(SqliteSessionService(str(files[0]))))
        for copy in files[1:]:
            shutil.copy(files[0], copy)
        adk, hot, prefix = (SqliteSessionService(str(file)) for file in files)
        bare = _runner(adk)
        kept = _runner(SessionCache(hot))
        cached = _runner(SessionCache(prefix), cache_prefix())

        def new_session() -> float:
            origin = Origin(app="speaker", user="user", session=str(uuid4()))
            loop.run(Sessions(cached.session_service).create(origin))
            return _timed(loop, _turn(cached, origin))

        measured = take_turns(
            {
                "adk": lambda: _timed(loop, _bare_turn(bare)),
                "hot": lambda: _timed(loop, _turn(kept, LONG)),
                "prefix": lambda: _timed(loop, _turn(cached, LONG)),
                "new": new_session,
            },
            3 if quick else 9,
        )
        assert loop.run(_contents_of_last(cached)) > EVENTS, "the model was shown all of it"
    return [
        Row(
            f"a turn after {EVENTS:,} events: sessions at hand, ADK's SQLite",
            millis(measured.cost("hot")),
            millis(measured.cost("adk")),
            measured.ratio("hot", "adk"),
            0.5,
        ),
        Row(
            f"a turn after {EVENTS:,} events: cached prefix, a new session",
            millis(measured.cost("prefix")),
            millis(measured.cost("new")),
            measured.ratio("prefix", "new"),
            3,
        ),
    ]


def _timed(loop: asyncio.Runner, turn: object) -> float:
    gc.unfreeze()  # As in a server: looking through what is kept is part of the cost.
    began = time.process_time()
    loop.run(turn)  # type: ignore[arg-type]  # a coroutine, made for this
    return time.process_time() - began


def _runner(service: BaseSessionService, *plugins: BasePlugin) -> Runner:
    root = LlmAgent(name="speaker", model=_Echo(model="echo"))
    return Runner(
        app=App(name="speaker", root_agent=root, plugins=list(plugins)), session_service=service
    )


async def _fill(service: SqliteSessionService) -> None:
    session = await service.create_session(app_name="speaker", user_id="user", session_id="long")
    for number in range(EVENTS):
        role = "model" if number % 2 else "user"
        said = types.Content(role=role, parts=[types.Part(text=f"Sentence {number} of many.")])
        author = "speaker" if number % 2 else "user"
        await service.append_event(
            session, Event(author=author, invocation_id=f"e-{number // 2}", content=said)
        )
    await service.close()


def _message() -> types.Content:
    return types.Content(role="user", parts=[types.Part(text="Is it so?")])


async def _bare_turn(runner: Runner) -> None:
    async for _ in runner.run_async(
        user_id=LONG.user, session_id=LONG.session, new_message=_message()
    ):
        pass


async def _turn(runner: Runner, origin: Origin) -> None:
    request = RunRequest(run="run", origin=origin, message=_message(), streaming=False)
    async for _ in RunnerSource(runner, request).records():
        pass


async def _contents_of_last(runner: Runner) -> int:
    session = await Sessions(runner.session_service).get(LONG)
    usage = session.events[-1].usage_metadata
    return usage.prompt_token_count or 0 if usage is not None else 0
