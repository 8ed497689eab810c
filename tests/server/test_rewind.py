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
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server, texts

from adk_prism.features.page.film import fold
from adk_prism.log.entry import RunStarted
from adk_prism.log.sqlite.store import SqliteLog

PATH = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"


async def invocation(server: LocalServer, run: str) -> str:
    found: str = (await server.client.get(f"/api/runs/{run}")).json()["invocation"]
    return found


async def rewind(server: LocalServer, invocation: str) -> httpx.Response:
    return await server.client.post(PATH + "/rewind", json={"invocationId": invocation})


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [texts(message) for message in messages]


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Any) -> BaseSessionService | None:
    return SqliteSessionService(f"{tmp_path}/sessions.db") if request.param == "sqlite" else None


async def test_the_chat_and_the_session_are_as_before(service: BaseSessionService | None) -> None:
    """Messages, state and what the model is sent next; the answer is the session."""
    model = Scripted.saying(call("count", "c1"), "One.", call("count", "c2"), "Two.", "Three.")
    async with local_server(agent(model), service=service) as server:
        await server.client.post(PATH, json={"tone": "brief"})
        await server.say("first")
        before = await server.messages()
        second = await server.say("second")
        await server.say("third")
        assert len(await server.messages()) == 6

        answer = await rewind(server, await invocation(server, second))
        assert answer.status_code == 200, answer.text
        assert answer.json()["state"] == {"tone": "brief", "count": 1}
        assert await server.messages() == before

        model.then("Again.")
        await server.say("other")
        assert [part.text for c in model.requests[-1] for part in c.parts or [] if part.text] == [
            "first",
            "One.",
            "other",
        ]
        assert said(await server.messages())[2:] == ["other", "Again."]


async def test_the_rewind_is_a_run_that_no_turn_follows() -> None:
    """It says what it voids, and its film shows the state before and after."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("first")
        answer = await rewind(server, await invocation(server, run))
        entries = await server.entries(answer.headers["x-prism-run"])
        head = entries[0].record
        assert isinstance(head, RunStarted)
        assert (head.kind, head.replaces) == ("rewind", run)
        film = fold(entries)
        assert film.at(1, "state")["state"]["snapshot"]["session"] == {"count": 1}
        assert film.at(None, "state")["state"]["snapshot"]["session"] == {"count": None}
        assert film.at()["outcome"] == "finished"
        assert answer.json()["state"] == {}
        assert await server.messages() == []


async def test_a_server_that_starts_again_knows_it(tmp_path: Any) -> None:
    """Nothing is kept beside the log."""
    file, service = tmp_path / "runs.db", SqliteSessionService(f"{tmp_path}/sessions.db")
    model = Scripted.saying("One.", "Two.")
    async with local_server(agent(model), service=service, log=SqliteLog(file)) as server:
        await server.say("first")
        run = await server.say("second")
        await rewind(server, await invocation(server, run))
    async with local_server(agent(model), service=service, log=SqliteLog(file)) as server:
        assert said(await server.messages()) == ["first", "One."]


async def test_initial_state_of_somebody_else_s_session_comes_back() -> None:
    """State that was given to ADK's `create_session` is not in any event; the log has it."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "Six."))) as server:
        await server.runner.session_service.create_session(
            app_name=APP, user_id=USER, session_id=SESSION, state={"count": 5, "tone": "brief"}
        )
        run = await server.say("first")
        assert (await server.session())["state"] == {"count": 6, "tone": "brief"}
        answer = await rewind(server, await invocation(server, run))
        assert answer.json()["state"] == {"count": 5, "tone": "brief"}


async def test_an_artifact_has_its_old_content_again() -> None:
    """ADK saves it as a new version; what came after is not deleted."""
    model = Scripted.saying(
        call("note", "c1", text="one"), "Noted.", call("note", "c2", text="two"), "Noted."
    )
    async with local_server(agent(model)) as server:
        await server.say("first")
        run = await server.say("second")
        await rewind(server, await invocation(server, run))
        part = (await server.client.get(f"{PATH}/artifacts/notes.txt")).json()
        assert types.Part.model_validate(part).inline_data.data == b"one"  # type: ignore[union-attr]


async def test_an_invocation_that_the_log_does_not_know() -> None:
    """Said to ADK without this server: taken back all the same, with the turns after it."""
    async with local_server(agent(Scripted.saying("Zero.", "One."))) as server:
        await server.client.post(PATH)
        runner = server.runner
        message = types.UserContent("before")
        async for event in runner.run_async(user_id=USER, session_id=SESSION, new_message=message):
            unknown = event.invocation_id
        await server.say("first")
        answer = await rewind(server, unknown)
        assert answer.status_code == 200
        assert await server.messages() == []


async def test_a_rewind_waits_for_the_run() -> None:
    """ADK fails a run whose session somebody else writes to; what the run says is taken back too."""
    held = asyncio.Event()
    async with local_server(agent(Scripted.saying("One.", held))) as server:
        first = await server.say("first")
        going = asyncio.create_task(server.say("second"))
        await held.wait()
        rewinding = asyncio.create_task(rewind(server, await invocation(server, first)))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not rewinding.done()
        await server.client.post(f"/api/chat/{APP}/{SESSION}/stop")
        await going
        assert (await rewinding).status_code == 200
        assert await server.messages() == []


async def test_what_is_not_there_is_not_rewound() -> None:
    """An unknown session is 404, an unknown or void invocation 409; nothing has changed, no run is left."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        assert (await rewind(server, "e-1")).status_code == 404
        run = await server.say("first")
        runs = len(await server.context.log.list())
        before = await server.stored()
        assert (await rewind(server, "e-nobody")).status_code == 409
        for body in ({}, {"invocationId": ""}, {"invocationId": 1}):
            assert (await server.client.post(PATH + "/rewind", json=body)).status_code == 422
        assert len(await server.context.log.list()) == runs
        assert await server.stored() == before
        known = await invocation(server, run)
        assert (await rewind(server, known)).status_code == 200
        assert (await rewind(server, known)).status_code == 409


async def test_either_spelling() -> None:
    """As everywhere in ADK's own contract."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        run = await server.say("first")
        body = {"invocation_id": await invocation(server, run)}
        assert (await server.client.post(PATH + "/rewind", json=body)).status_code == 200
