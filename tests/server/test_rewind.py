"""The rewind route: afterwards the session and the chat are as if nothing had been said from there on."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.staged import APP, SESSION, USER, Stage, agent, staging, texts

from adk_prism.features.page.film import fold
from adk_prism.log.entry import RunStarted
from adk_prism.log.sqlite.store import SqliteLog

PATH = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"


async def invocation(stage: Stage, run: str) -> str:
    found: str = (await stage.client.get(f"/api/runs/{run}")).json()["invocation"]
    return found


async def rewind(stage: Stage, invocation: str) -> httpx.Response:
    return await stage.client.post(PATH + "/rewind", json={"invocationId": invocation})


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [texts(message) for message in messages]


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Any) -> BaseSessionService | None:
    return SqliteSessionService(f"{tmp_path}/sessions.db") if request.param == "sqlite" else None


async def test_the_chat_and_the_session_are_as_before(service: BaseSessionService | None) -> None:
    """Messages, state and what the model is sent next; the answer is the session."""
    model = Scripted.saying(call("count", "c1"), "One.", call("count", "c2"), "Two.", "Three.")
    async with staging(agent(model), service=service) as stage:
        await stage.client.post(PATH, json={"tone": "brief"})
        await stage.say("first")
        before = await stage.messages()
        second = await stage.say("second")
        await stage.say("third")
        assert len(await stage.messages()) == 6

        answer = await rewind(stage, await invocation(stage, second))
        assert answer.status_code == 200, answer.text
        assert answer.json()["state"] == {"tone": "brief", "count": 1}
        assert await stage.messages() == before

        model.then("Again.")
        await stage.say("other")
        assert [part.text for c in model.requests[-1] for part in c.parts or [] if part.text] == [
            "first",
            "One.",
            "other",
        ]
        assert said(await stage.messages())[2:] == ["other", "Again."]


async def test_the_rewind_is_a_run_that_no_turn_follows() -> None:
    """It says what it voids, and its film shows the state before and after."""
    async with staging(agent(Scripted.saying(call("count", "c1"), "One."))) as stage:
        run = await stage.say("first")
        answer = await rewind(stage, await invocation(stage, run))
        entries = await stage.entries(answer.headers["x-prism-run"])
        head = entries[0].record
        assert isinstance(head, RunStarted)
        assert (head.kind, head.replaces) == ("rewind", run)
        film = fold(entries)
        assert film.at(1, "state")["state"]["snapshot"]["session"] == {"count": 1}
        assert film.at(None, "state")["state"]["snapshot"]["session"] == {"count": None}
        assert film.at()["outcome"] == "finished"
        assert answer.json()["state"] == {}
        assert await stage.messages() == []


async def test_a_server_that_starts_again_knows_it(tmp_path: Any) -> None:
    """Nothing is kept beside the log."""
    file, service = tmp_path / "runs.db", SqliteSessionService(f"{tmp_path}/sessions.db")
    model = Scripted.saying("One.", "Two.")
    async with staging(agent(model), service=service, log=SqliteLog(file)) as stage:
        await stage.say("first")
        run = await stage.say("second")
        await rewind(stage, await invocation(stage, run))
    async with staging(agent(model), service=service, log=SqliteLog(file)) as stage:
        assert said(await stage.messages()) == ["first", "One."]


async def test_initial_state_of_somebody_else_s_session_comes_back() -> None:
    """State that was given to ADK's `create_session` is not in any event; the log has it."""
    async with staging(agent(Scripted.saying(call("count", "c1"), "Six."))) as stage:
        await stage.runner.session_service.create_session(
            app_name=APP, user_id=USER, session_id=SESSION, state={"count": 5, "tone": "brief"}
        )
        run = await stage.say("first")
        assert (await stage.session())["state"] == {"count": 6, "tone": "brief"}
        answer = await rewind(stage, await invocation(stage, run))
        assert answer.json()["state"] == {"count": 5, "tone": "brief"}


async def test_an_artifact_has_its_old_content_again() -> None:
    """ADK saves it as a new version; what came after is not deleted."""
    model = Scripted.saying(
        call("note", "c1", text="one"), "Noted.", call("note", "c2", text="two"), "Noted."
    )
    async with staging(agent(model)) as stage:
        await stage.say("first")
        run = await stage.say("second")
        await rewind(stage, await invocation(stage, run))
        part = (await stage.client.get(f"{PATH}/artifacts/notes.txt")).json()
        assert types.Part.model_validate(part).inline_data.data == b"one"  # type: ignore[union-attr]


async def test_an_invocation_that_the_log_does_not_know() -> None:
    """Said to ADK without this server: taken back all the same, with the turns after it."""
    async with staging(agent(Scripted.saying("Zero.", "One."))) as stage:
        await stage.client.post(PATH)
        runner = stage.runner
        message = types.UserContent("before")
        async for event in runner.run_async(user_id=USER, session_id=SESSION, new_message=message):
            unknown = event.invocation_id
        await stage.say("first")
        answer = await rewind(stage, unknown)
        assert answer.status_code == 200
        assert await stage.messages() == []


async def test_a_rewind_waits_for_the_run() -> None:
    """ADK fails a run whose session somebody else writes to; what the run says is taken back too."""
    held = asyncio.Event()
    async with staging(agent(Scripted.saying("One.", held))) as stage:
        first = await stage.say("first")
        going = asyncio.create_task(stage.say("second"))
        await held.wait()
        rewinding = asyncio.create_task(rewind(stage, await invocation(stage, first)))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not rewinding.done()
        await stage.client.post(f"/api/chat/{APP}/{SESSION}/stop")
        await going
        assert (await rewinding).status_code == 200
        assert await stage.messages() == []


async def test_what_is_not_there_is_not_rewound() -> None:
    """An unknown session is 404, an unknown or void invocation 409; nothing has changed, no run is left."""
    async with staging(agent(Scripted.saying("One."))) as stage:
        assert (await rewind(stage, "e-1")).status_code == 404
        run = await stage.say("first")
        runs = len(await stage.context.log.list())
        before = await stage.stored()
        assert (await rewind(stage, "e-nobody")).status_code == 409
        for body in ({}, {"invocationId": ""}, {"invocationId": 1}):
            assert (await stage.client.post(PATH + "/rewind", json=body)).status_code == 422
        assert len(await stage.context.log.list()) == runs
        assert await stage.stored() == before
        known = await invocation(stage, run)
        assert (await rewind(stage, known)).status_code == 200
        assert (await rewind(stage, known)).status_code == 409


async def test_either_spelling() -> None:
    """As everywhere in ADK's own contract."""
    async with staging(agent(Scripted.saying("One."))) as stage:
        run = await stage.say("first")
        body = {"invocation_id": await invocation(stage, run)}
        assert (await stage.client.post(PATH + "/rewind", json=body)).status_code == 200
