"""H: what a turn costs in a long session: sessions kept at hand, against ADK's services as they are.

One short turn of a scripted agent, by ADK's Runner, in a session of 5,000 events in SQLite. The first
turn reads all of them in both; from the second on the difference shows.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from adk_prism.source.hot_sessions import HotSessions
from benchmarks.rounds import take_turns
from benchmarks.table import Row, millis

EVENTS = 5000


class _Echo(BaseLlm):
    """Answers at once."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del llm_request, stream
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text="Yes.")]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=1),
        )


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        cold_file, hot_file = Path(folder, "cold.db"), Path(folder, "hot.db")
        loop.run(_fill(SqliteSessionService(str(cold_file))))
        shutil.copy(cold_file, hot_file)
        cold = _runner(SqliteSessionService(str(cold_file)))
        hot = _runner(HotSessions(SqliteSessionService(str(hot_file))))

        def turn(runner: Runner) -> float:
            began = time.process_time()
            loop.run(_turn(runner))
            return time.process_time() - began

        measured = take_turns(
            {"hot": lambda: turn(hot), "cold": lambda: turn(cold)}, 3 if quick else 7
        )
    return [
        Row(
            f"a turn after {EVENTS:,} events: sessions at hand, ADK's SQLite",
            millis(measured.cost("hot")),
            millis(measured.cost("cold")),
            measured.ratio("hot", "cold"),
            0.5,
        )
    ]


def _runner(service: BaseSessionService) -> Runner:
    app = App(name="speaker", root_agent=LlmAgent(name="speaker", model=_Echo(model="echo")))
    return Runner(app=app, session_service=service)


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


async def _turn(runner: Runner) -> None:
    message = types.Content(role="user", parts=[types.Part(text="Is it so?")])
    async for _ in runner.run_async(user_id="user", session_id="long", new_message=message):
        pass
