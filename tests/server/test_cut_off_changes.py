"""A change of a session's branch that was cut off: the next message is right, from whichever version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.cut_off import CHANGES, Chat, Cut, FullLog, again, begin
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server
from tests.server.test_lineage import assistant, user
from tests.server.test_lineage import post_named as post
from tests.server.test_versions import HERE, asked, asking, count, note_of, send, shown

from adk_prism.log.contract import SideValue
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.branches import KIND

PATH = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"
BRANCHES = pytest.mark.parametrize("version", ["Three.", "Two."], ids=["live", "other"])


async def check_next(server: LocalServer, model: Scripted, chat: Chat, version: str) -> None:
    """Send the next message from a version: model, messages and state are those of it."""
    model.say_nothing_more()
    model.then("Next.")
    said = ["u1", "One.", "u2", version, "next"]
    await send(server, assistant(chat.ends[version]), user("next"))
    assert asked(model) == said
    assert await shown(server) == [*said, "Next."]
    assert await count(server) == 2


async def notes(server: LocalServer) -> list[SideValue]:
    found = (await server.context.log.side.list([HERE])).get(HERE, ())
    return [note for note in found if note.space == KIND]


@BRANCHES
@pytest.mark.parametrize("change", CHANGES)
async def test_cut_off_at_every_step(change: str, version: str) -> None:
    """Before each event that the change appends, and before its run is in the log."""
    steps = 0
    while await _is_cut_off(change, version, steps):
        steps += 1
    assert steps >= (6 if change == "restore" else 1)


async def _is_cut_off(change: str, version: str, after: int) -> bool:
    """Cut a change off, after some events or else at its end; return whether there was one more event.

    What undoes it is cut off in the same place.
    """
    model, service, log = Scripted(), InMemorySessionService(), FullLog()
    cut = Cut(service)
    async with local_server(agent(model), service=service, log=log) as server:
        chat = await begin(server, model)
        cut.after, log.is_full = after, True
        refused = await CHANGES[change](server, chat)
        assert refused.status_code == 503, refused.text
        is_one_more = cut.after is None
        cut.after = after
        again = await post(server, assistant(chat.ends[version]), user("next"))
        assert again.status_code == 503, again.text
        cut.after, log.is_full = None, False
        await check_next(server, model, chat, version)
        assert await note_of(server) == {"Two.": b"2", "Three.": b"3"}[version]
        model.then("Again.")
        await send(server, assistant(chat.one), user("last"))
        assert asked(model) == ["u1", "One.", "last"]
        assert len(await notes(server)) == 1
        return is_one_more


@pytest.mark.parametrize("after", [0, 2, 9], ids=["nothing", "some", "all"])
async def test_what_only_comes_back_goes_again(after: int) -> None:
    """A version that continues the live one: nothing is rewound for it, and what was done since stays."""
    model, service, log = Scripted(), InMemorySessionService(), FullLog()
    cut = Cut(service)
    async with local_server(agent(model), service=service, log=log) as server:
        chat = await begin(server, model)
        assert (await CHANGES["rewind"](server, chat)).status_code == 200
        await server.client.patch(PATH, json={"stateDelta": {"tone": "brief"}})
        cut.after, log.is_full = after, True
        assert (await post(server, assistant(chat.three), user("u3"))).status_code == 503
        cut.after, log.is_full = None, False
        await send(server, assistant(chat.one), user("next"))
        assert asked(model) == ["u1", "One.", "next"]
        assert (await server.session())["state"] == {"count": 1, "tone": "brief"}
        assert await note_of(server) == b"1"
        await check_next(server, model, chat, "Three.")


async def cut_off(server: LocalServer, model: Scripted, log: FullLog) -> Chat:
    """Begin a chat, and rewind all of it for a run that is not stored."""
    chat = await begin(server, model)
    log.is_full = True
    assert (await again(server, chat.one)).status_code == 503
    log.is_full = False
    assert len(await notes(server)) == 1
    return chat


async def say_elsewhere(server: LocalServer, text: str) -> None:
    """Say something to ADK without the server."""
    message, where = types.UserContent(text), {"user_id": USER, "session_id": SESSION}
    async for _ in server.runner.run_async(**where, new_message=message):
        pass


async def fork(server: LocalServer, run: str) -> None:
    message = types.UserContent("fork").model_dump(exclude_none=True)
    forked = await server.fork(run, len(await server.entries(run)), newMessage=message)
    await server.entries(forked["run"])


@pytest.mark.parametrize("step", ["run", "state", "fork", "rewind", "live"])
async def test_whatever_comes_next_finds_the_session_right(step: str) -> None:
    """A run in ADK's protocol, a change of state, a fork, a rewind, a live run."""
    model, log = Scripted(), FullLog()
    async with local_server(agent(model), log=log) as server:
        chat = await cut_off(server, model, log)
        whole = ["u1", "One.", "u2", "Three."]
        if step == "state":
            change = {"stateDelta": {"tone": "brief"}}
            assert (await server.client.patch(PATH, json=change)).status_code == 200
        elif step == "fork":
            await fork(server, chat.three)
            assert asked(model) == [*whole, "fork"]
        elif step == "rewind":
            assert (await CHANGES["rewind"](server, chat)).status_code == 200
            whole = whole[:2]
        elif step == "live":  # It fails, since the model is none that speaks.
            live = server.context.live
            run = await live.join(HERE, live.options, lambda _: None, lambda _: None)
            await server.entries(run.id)
            assert await notes(server) == []
        await server.say("next")
        assert asked(model) == [*whole, "next"]
        state = (await server.session())["state"]
        assert state["count"] == len(whole) // 2
        assert state.get("tone") == ("brief" if step == "state" else None)
        await fork(server, chat.three)
        assert asked(model) == ["u1", "One.", "u2", "Three.", "fork"]


@pytest.mark.parametrize("answer", [0, 1], ids=["before", "after"])
async def test_messages_that_only_the_session_has(answer: int) -> None:
    """They come back too, although no record names them: a message belongs where its client shows it."""
    model, log = Scripted.saying("One.", "Two.", "Next."), FullLog()
    async with local_server(agent(model), log=log) as server:
        await server.client.post(PATH)
        await say_elsewhere(server, "u1")
        await say_elsewhere(server, "u2")
        answers = [m["id"] for m in await server.messages() if m["role"] == "assistant"]
        log.is_full = True
        assert (await again(server, answers[1])).status_code == 503
        log.is_full = False
        await send(server, assistant(answers[answer]), user("next"))
        assert asked(model) == [*["u1", "One.", "u2", "Two."][: 2 * answer + 2], "next"]


@pytest.mark.parametrize("resumable", [True, False], ids=["resumable", "not resumable"])
async def test_an_approval_that_waits(resumable: bool) -> None:
    """It can still be answered: the log says that it waits, and the session has what was asked."""
    model, log = Scripted.saying(call("erase", "c1"), "Erased."), FullLog()
    async with local_server(asking(model), log=log, resumable=resumable) as server:
        waiting = await send(server, user("u1"))
        message = (await server.messages())[-1]
        log.is_full = True
        assert (await again(server, waiting)).status_code == 503
        log.is_full = False
        (part,) = [part for part in message["parts"] if part["type"] == "tool-erase"]
        approval = {**part["approval"], "approved": True}
        answered = {**part, "state": "approval-responded", "approval": approval}
        await send(server, user("u1"), {**message, "parts": [answered]})
        assert await shown(server) == ["u1", "Erased."]
        parts = [part for content in model.requests[-1] for part in content.parts or ()]
        results = [part.function_response.response for part in parts if part.function_response]
        assert results == [{"erased": True}]


async def test_the_note_is_for_nobody_else() -> None:
    """One for each session, gone with the next message or with the session; no list shows it."""
    model = Scripted()
    async with local_server(agent(model)) as server:
        chat = await begin(server, model)
        (note,) = await notes(server)
        assert note.key == chat.three
        listed = (await server.client.get("/api/conversations")).json()
        await server.context.log.side.delete(HERE, KIND, note.key)
        assert (await server.client.get("/api/conversations")).json() == listed
        await again(server, chat.three)
        assert len(await notes(server)) == 1
        await server.say("next")
        assert await notes(server) == []
        await again(server, chat.three)
        await server.client.delete(PATH)
        assert await notes(server) == []


async def test_a_store_that_took_the_note_and_not_the_run(tmp_path: Path) -> None:
    """The log knows that run, and that it was never stored."""
    model, file = Scripted(), tmp_path / "runs.db"
    async with local_server(agent(model), log=SqliteLog(file)) as server:
        chat = await begin(server, model)
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
            assert (await again(server, chat.one)).status_code == 503
            connection.execute("DROP TRIGGER full")
        await check_next(server, model, chat, "Three.")


async def test_what_somebody_else_said_since_stays() -> None:
    """Then the session has gone on as it was left, and the note is removed."""
    model, log = Scripted(), FullLog()
    async with local_server(agent(model), log=log) as server:
        await cut_off(server, model, log)
        model.then("Here.", "There.")
        await say_elsewhere(server, "elsewhere")
        await server.say("next")
        assert asked(model) == ["elsewhere", "Here.", "next"]
        assert await notes(server) == []
