"""A process that died while it stored results of client tools: they are stored once.

As a program, `python -m tests.server.test_results_cut_off FOLDER STEP`, it dies at a step.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.ag_ui.test_runs import SHOW
from tests.server.ag_ui.thread import Thread, result, text_of, user
from tests.server.local_server import agent, local_server

from adk_prism import accept_client_tools
from adk_prism.log.buffered_log import BufferedSide
from adk_prism.log.contract import Receipt, SideValue
from adk_prism.log.entry import Record, RunEnded, RunId, RunStarted
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.answers import KIND

ROOT = Path(__file__).parents[2]
KILLED = 86
CALL = "call-1"
GIVEN = {"shown": True}
STEPS = ("note", "session", "stored", "start", "end")
"""Before the note, the session's event, the log's start after that, or the run's end."""


class _DeadlySide(BufferedSide):
    step = ""

    async def put(self, owner: Any, space: str, key: str, value: bytes) -> SideValue:
        if space == KIND and self.step == "note":
            os._exit(KILLED)
        return await super().put(owner, space, key, value)


class _Deadly(SqliteLog):
    step = ""
    run = ""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.side: _DeadlySide = _DeadlySide(self)

    async def append(self, run: RunId, records: Sequence[Record], **more: Any) -> Receipt:
        head = records[0]
        if isinstance(head, RunStarted) and head.continues is not None:
            self.run = run
            if self.step == "start":
                os._exit(KILLED)
        if isinstance(head, RunEnded) and run == self.run and self.step == "end":
            os._exit(KILLED)
        return await super().append(run, records, **more)


class _DeadlyService(SqliteSessionService):
    step = ""

    async def append_event(self, session: Session, event: Event) -> Event:
        is_result = event.author == "user" and bool(event.get_function_responses())
        if is_result and self.step == "session":
            os._exit(KILLED)
        stored = await super().append_event(session, event)
        if is_result and self.step == "stored":
            os._exit(KILLED)
        return stored


async def _die(folder: str, step: str) -> None:
    service, log = _DeadlyService(f"{folder}/sessions.db"), _Deadly(f"{folder}/runs.db")
    model = Scripted.saying(call("show_weather", CALL, city="Rome"), "Never said.")
    plugins = [accept_client_tools("request")]
    async with local_server(agent(model), service=service, log=log, plugins=plugins) as server:
        thread = Thread(server)
        await thread.run(user("weather"), tools=[SHOW])
        service.step = log.step = log.side.step = step
        await thread.run(result(CALL, GIVEN), user("thanks"), tools=[SHOW])


@pytest.mark.parametrize("again", [True, False], ids=["sent again", "something else"])
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("step", STEPS)
async def test_results_are_stored_once(
    step: str, resumable: bool, again: bool, tmp_path: Path
) -> None:
    """The model reads them once; the log and the session have the same."""
    command = [sys.executable, "-m", "tests.server.test_results_cut_off", str(tmp_path), step]
    dying = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    assert await asyncio.wait_for(dying.wait(), PATIENCE) == KILLED
    model = Scripted.saying("Fine.")
    service, log = (
        SqliteSessionService(str(tmp_path / "sessions.db")),
        SqliteLog(tmp_path / "runs.db"),
    )
    plugins = [accept_client_tools("request")]
    async with local_server(
        agent(model), service=service, log=log, plugins=plugins, resumable=resumable
    ) as server:
        thread = Thread(server)
        thread.messages = [user("weather"), _called()]
        new = [result(CALL, GIVEN), user("thanks")] if again else [user("and now?")]
        assert text_of(await thread.run(*new, tools=[SHOW])) == "Fine."
        assert len(model.requests) == 1
        stored = (await server.stored())["events"]
        answered = [
            part["function_response"]["response"]
            for event in stored
            if event["author"] == "user"
            for part in event["content"]["parts"]
            if part["function_response"]
        ]
        is_stored = again or step in ("stored", "start", "end")
        assert answered == ([GIVEN] if is_stored else [])
        shown = [
            m for m in await thread.history() if m["role"] == "tool" and '"shown"' in m["content"]
        ]
        assert len(shown) == is_stored
        runs = await server.context.log.list()
        assert all(run.outcome in ("finished", "waiting") for run in runs), runs


def _called() -> dict[str, Any]:
    function = {"name": "show_weather", "arguments": "{}"}
    made = [{"id": CALL, "type": "function", "function": function}]
    return {"id": f"a-{CALL}", "role": "assistant", "toolCalls": made}


if __name__ == "__main__":
    asyncio.run(_die(*sys.argv[1:]))
