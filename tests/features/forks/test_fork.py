"""Fork: a new session with the history, state and artifacts of a cursor, and a run that goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.adk.workflow import START, Workflow
from tests.adk.scripted import Scripted, call
from tests.server.local_server import (
    APP,
    SESSION,
    USER,
    LocalServer,
    agent,
    count,
    local_server,
    texts,
)

from adk_prism.errors import LogError
from adk_prism.facts.adk_event import read_event
from adk_prism.features.page.film import fold
from adk_prism.log.entry import AgentEvent, Entry, RunEnded, RunStarted
from adk_prism.log.from_url import open_log
from adk_prism.log.memory import MemoryLog
from adk_prism.testing.laws import check_laws

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"
PATH = f"/apps/{APP}/users/{USER}/sessions"
Json = dict[str, Any]


def hello(text: str = "and now?") -> Json:
    return {"role": "user", "parts": [{"text": text}]}


@pytest.fixture(params=["memory", "sqlite", "database"])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    file = tmp_path / "sessions.db"
    match request.param:
        case "memory":
            yield InMemorySessionService()
        case "sqlite":
            yield SqliteSessionService(str(file))
        case _:
            database = DatabaseSessionService(f"sqlite+aiosqlite:///{file}")
            yield database
            await database.close()


def cursors(service: BaseSessionService, last: int) -> list[int]:
    """Return every cursor of a run; of a service that takes its time, every fourth and the last."""
    step = 1 if isinstance(service, InMemorySessionService) else 4
    return sorted({*range(1, last + 1, step), last})


def tour() -> Scripted:
    """Return a model for a chat of three turns with tools, state and artifacts."""
    return Scripted.saying(
        [call("count", "c1"), call("note", "n1", text="one")],
        "Counted and noted. ",
        call("count", "c2"),
        call("note", "n2", text="two"),
        "Again. ",
        "Nothing to do. ",
    )


async def play(server: LocalServer) -> list[str]:
    await server.client.post(f"{PATH}/{SESSION}", json={"tone": "brief"})
    return [await server.say(text) for text in ("first", "second", "third")]


def asked(model: Scripted) -> list[tuple[str, str]]:
    """Return what the model was asked last: who said what, in short."""
    found = []
    for content in model.requests[-1]:
        for part in content.parts or []:
            if part.function_call:
                found.append(("calls", part.function_call.id or ""))
            elif part.function_response:
                found.append(("answers", part.function_response.id or ""))
            elif part.text:
                found.append((str(content.role), part.text.strip()))
    return found


def whole(entries: list[Entry], until: int) -> list[Any]:
    """Return the whole events of a run up to a cursor."""
    read = [read_event(e.record.event) for e in entries[:until] if isinstance(e.record, AgentEvent)]
    return [event for event in read if not event.partial]


async def notes(server: LocalServer, session: str) -> list[bytes]:
    """Return every version of the notes."""
    found = []
    versions = (await server.client.get(f"{PATH}/{session}/artifacts/notes.txt/versions")).json()
    for version in versions if isinstance(versions, list) else []:
        part = await server.runner.artifact_service.load_artifact(  # type: ignore[union-attr]
            app_name=APP, user_id=USER, session_id=session, filename="notes.txt", version=version
        )
        assert part is not None
        assert part.inline_data is not None
        found.append(part.inline_data.data or b"")
    return found


# ------------------------------------------------------------------ at every cursor


async def test_every_cursor_of_a_chat_with_a_new_message(service: BaseSessionService) -> None:
    """The model sees the history of that moment and nothing after; so do state and artifacts.

    The original is the same afterwards, to the last event.
    """
    model = tour()
    async with local_server(agent(model), service=service) as server:
        runs = await play(server)
        before = await server.stored()
        films = [fold(await server.entries(run)) for run in runs]
        history: list[str] = []
        state: Json = {"tone": "brief"}
        written: list[bytes] = []
        for run, text in zip(runs, ("first", "second", "third"), strict=True):
            entries = await server.entries(run)
            for at in cursors(service, len(entries)):
                told = whole(entries, at)
                model.then("Well. ")
                forked = await server.fork(run, at, newMessage=hello())
                await server.entries(forked["run"])
                session = await server.session(forked["session"])
                ids = [e["id"] for e in session["events"] if e["author"] != "user"][:-1]
                assert ids == [*history, *(event.id for event in told)], (text, at)
                assert asked(model)[-1] == ("user", "and now?")
                assert session["state"] == state | _deltas(told)
                assert await notes(server, forked["session"]) == [*written, *_notes(told)]
            history += [event.id for event in whole(entries, len(entries))]
            state |= _deltas(whole(entries, len(entries)))
            written += _notes(whole(entries, len(entries)))
        assert await server.stored() == before
        assert [fold(await server.entries(run)).at() for run in runs] == [f.at() for f in films]
        assert await notes(server, SESSION) == [b"one", b"two"]


def _deltas(events: list[Any]) -> Json:
    found: Json = {}
    for event in events:
        for key, raw in (event.actions.state_delta if event.actions else {}).items():
            found[key] = json.loads(bytes(raw))
    return found


def _notes(events: list[Any]) -> list[bytes]:
    saved = [v for e in events if e.actions for v in e.actions.artifact_delta.values()]
    return [b"one", b"two"][saved[0] : saved[-1] + 1] if saved else []


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_every_cursor_of_a_run_without_a_message(
    service: BaseSessionService, resumable: bool
) -> None:
    """The run goes on: its log is the past and the new, one message, by all laws.

    A resumable app runs a call that was made; any other asks its model again.
    """
    model = tour()
    async with local_server(agent(model), service=service, resumable=resumable) as server:
        runs = await play(server)
        before = await server.stored()
        entries = await server.entries(runs[1])
        for at in cursors(service, len(entries)):
            model.then("Otherwise. ")
            forked = await server.fork(runs[1], at)
            new = await server.entries(forked["run"])
            assert check_laws(new) == [], at
            told = whole(entries, at)
            if forked["goesOn"] == "nothing":
                model.say_nothing_more()
                # What ends a run: its last event, the end of its node, its own end.
                assert at >= len(entries) - (5 if resumable else 3)
                assert len(await server.messages(forked["session"])) == 4
                continue
            calls = [
                c for c in ("c2", "n2") if f'"id":"{c}"'.encode() in b"".join(_raw(entries, at))
            ]
            done = [c for c in calls if _has_answer(told, c) or resumable]
            expected = [pair for c in done for pair in (("calls", c), ("answers", c))]
            assert asked(model)[6:] == [("user", "second"), *expected], at
            messages = await server.messages(forked["session"])
            assert [m["role"] for m in messages] == ["user", "assistant"] * 2
            assert texts(messages[2]) == "second"
            assert texts(messages[3]).endswith("Otherwise.")
            kept = [e.id for e in whole(new, len(new))][: len(told)]
            assert kept == [event.id for event in told]
        assert await server.stored() == before


def _raw(entries: list[Entry], at: int) -> list[bytes]:
    return [
        e.record.event
        for e in entries[:at]
        if isinstance(e.record, AgentEvent) and not read_event(e.record.event).partial
    ]


def _has_answer(events: list[Any], call_id: str) -> bool:
    parts = [part for event in events if event.content for part in event.content.parts or []]
    return any(p.function_response and p.function_response.id == call_id for p in parts)


# ------------------------------------------------------------------ how it goes on


async def test_a_sentence_that_was_being_spoken_is_said_anew() -> None:
    """ADK keeps whole events only; the page of the fork does not show half a sentence either."""
    model = Scripted.saying("One two three four. ")
    async with local_server(agent(model)) as server:
        run = await server.say("count")
        entries = await server.entries(run)
        model.then("Fine. ")
        at = next(e.cursor for e in entries if b"three" in getattr(e.record, "event", b""))
        forked = await server.fork(run, at, newMessage=hello("stop"))
        await server.entries(forked["run"])
        assert asked(model) == [("user", "count"), ("user", "stop")]
        said = [texts(m) for m in await server.messages(forked["session"])]
        assert said == ["count", "", "stop", "Fine."]


async def test_where_nothing_is_left_to_do_no_model_is_called() -> None:
    """A copy: asked again, ADK would show the model its own last answer and ask for more."""
    model = Scripted.saying("Done. ")
    async with local_server(agent(model)) as server:
        run = await server.say("go")
        last = len(await server.entries(run))
        for at in (last - 1, last):
            forked = await server.fork(run, at, stateDelta={"mood": "good"})
            assert forked["goesOn"] == "nothing"
            entries = await server.entries(forked["run"])
            assert entries[-1].record == RunEnded(outcome="finished")
            assert len(model.requests) == 1
            session = await server.session(forked["session"])
            assert session["state"] == {"mood": "good"}
            assert [texts(m) for m in await server.messages(forked["session"])] == ["go", "Done."]


async def test_a_failed_run_is_tried_again_from_where_it_failed() -> None:
    """What worked is not repeated."""
    model = Scripted.saying(call("count", "c1"), RuntimeError("overloaded"))
    async with local_server(agent(model)) as server:
        run = await server.say("count")
        entries = await server.entries(run)
        end = entries[-1].record
        assert isinstance(end, RunEnded)
        assert end.outcome == "failed"
        model.then("It is one. ")
        forked = await server.fork(run, len(entries))
        new = await server.entries(forked["run"])
        assert new[-1].record == RunEnded(outcome="finished")
        assert asked(model) == [("user", "count"), ("calls", "c1"), ("answers", "c1")]
        assert (await server.session(forked["session"]))["state"] == {"count": 1}
        assert check_laws(new) == []


async def test_a_stopped_run_goes_on() -> None:
    """That somebody stopped the original is not the fork's end."""
    held = asyncio.Event()
    model = Scripted.saying(call("count", "c1"), held)
    async with local_server(agent(model)) as server:
        going = asyncio.create_task(server.say("count"))
        await held.wait()
        await server.client.post(f"/api/chat/{APP}/{SESSION}/stop")
        run = await going
        entries = await server.entries(run)
        model.then("It is one. ")
        forked = await server.fork(run, len(entries))
        new = await server.entries(forked["run"])
        assert new[-1].record == RunEnded(outcome="finished")
        assert check_laws(new) == []


async def test_a_live_run_is_forked_while_it_runs() -> None:
    """It is only read, and goes on."""
    held = asyncio.Event()
    model = Scripted.saying(call("count", "c1"), held)
    async with local_server(agent(model)) as server:
        going = asyncio.create_task(server.say("count"))
        await held.wait()
        [summary] = await server.context.log.list()
        await server.reaches(summary.run, b"Once")
        model.then("Elsewhere. ")
        at = (await server.context.log.summary(summary.run)).cursor
        forked = await server.fork(summary.run, at)
        new = await server.entries(forked["run"])
        assert new[-1].record == RunEnded(outcome="finished")
        assert not going.done()
        await server.client.post(f"/api/runs/{summary.run}/cancel")
        await going


async def test_changed_state_is_seen_by_what_goes_on() -> None:
    """One event more, at the end of the past; the film shows it between past and new."""
    model = Scripted.saying(call("count", "c1"), "One. ")
    async with local_server(agent(model, instruction="Mood: {mood?}")) as server:
        run = await server.say("count")
        entries = await server.entries(run)
        answered = next(i for i, e in enumerate(entries, 1) if b"functionResponse" in _bytes(e))
        model.then("Good. ", "Better. ")
        for message in (None, hello()):
            forked = await server.fork(
                run, answered, stateDelta={"mood": "good", "count": 7}, newMessage=message
            )
            new = await server.entries(forked["run"])
            session = await server.session(forked["session"])
            assert session["state"] == {"count": 7, "mood": "good"}
            film = fold(new)
            assert film.at(None, "state")["state"]["snapshot"]["session"] == session["state"]
        assert (await server.session())["state"] == {"count": 1}


async def test_a_key_is_taken_out_of_the_state() -> None:
    """Whether a message is said, the run goes on, or nothing is left to do: the fork never had it."""
    model = Scripted.saying(call("count", "c1"), "One. ")
    async with local_server(agent(model), resumable=True) as server:
        await server.client.post(f"{PATH}/{SESSION}", json={"tone": "brief"})
        run = await server.say("count")
        entries = await server.entries(run)
        answered = next(i for i, e in enumerate(entries, 1) if b"functionResponse" in _bytes(e))
        model.then("Good. ", "Better. ")
        for at, message in ((answered, None), (answered, hello()), (len(entries), None)):
            keys = ["count", "tone", "unheard of"]
            forked = await server.fork(run, at, removeState=keys, newMessage=message)
            new = await server.entries(forked["run"])
            assert (await server.session(forked["session"]))["state"] == {}, forked["goesOn"]
            assert fold(new).at(None, "state")["state"]["snapshot"]["session"] == {}
            assert check_laws(new) == []
        assert (await server.session())["state"] == {"count": 1, "tone": "brief"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"removeState": ["user:name"]}, 403),
        ({"removeState": ["temp:x"]}, 403),
        ({"stateDelta": {"temp:x": 1}}, 403),
        ({"stateDelta": {"a": 1}, "removeState": ["a"]}, 400),
        ({"removeState": "a"}, 422),
        ({"removeState": ["a"] * 1001}, 422),
        ({"stateDelta": [1]}, 422),
    ],
    ids=str,
)
async def test_changes_of_the_state_that_are_refused(body: Json, status: int) -> None:
    """Nothing is made, and no model is called."""
    async with local_server(agent(Scripted.saying("One. "))) as server:
        run = await server.say("hello")
        before = await _everything(server)
        answer = await server.client.post(f"/api/runs/{run}/fork", json={"at": 1} | body)
        assert answer.status_code == status, answer.text
        assert await _everything(server) == before


async def test_a_fork_and_its_origin_know_each_other(tmp_path: Path) -> None:
    """In the list of conversations and after a restart; a fork of a fork names the fork."""
    model = Scripted.saying(call("count", "c1"), "One. ", "Two. ", *["More. "] * 9)
    log = f"sqlite:///{tmp_path}/log.db"
    async with local_server(agent(model), log=open_log(log)) as server:
        await server.say("first")
        run = await server.say("second")
        made = [
            await server.fork(run, at, newMessage=message)
            for at, message in ((1, None), (3, hello()), (len(await server.entries(run)), None))
        ]
        again = await server.fork(made[1]["run"], 2, newMessage=hello())
        for each in (*made, again):
            await server.entries(each["run"])
        alone = await server.client.get("/api/conversations", params={"session": SESSION})
        assert [fork["session"] for fork in alone.json()[0]["forks"]] == [
            f["session"] for f in made
        ]
        gone = made.pop()["session"]
        assert (await server.client.delete(f"{PATH}/{gone}")).status_code == 200
    async with local_server(agent(model), log=open_log(log)) as server:
        listed = (await server.client.get("/api/conversations")).json()
        found = {each["session"]: each for each in listed}
        origin = found[SESSION]
        assert origin["forkedFrom"] is None
        assert [fork["session"] for fork in origin["forks"]] == [f["session"] for f in made]
        for fork in made:
            point = found[fork["session"]]["forkedFrom"]
            assert (point["run"], point["session"]) == (run, SESSION)
            assert found[fork["session"]]["title"] == "Fork of first"
        point = found[again["session"]]["forkedFrom"]
        run, session = made[1]["run"], made[1]["session"]
        assert point == {"run": run, "at": 2, "session": session, "rerun": False}


def _bytes(entry: Entry) -> bytes:
    return entry.record.event if isinstance(entry.record, AgentEvent) else b""


async def test_a_workflow_goes_on_at_its_node(service: BaseSessionService) -> None:
    """Nodes that are done are not run again; one with a call that nobody answered asks again."""
    one, two = Scripted.saying("First. "), Scripted.saying(call("count", "c1"), "Second. ")
    first = LlmAgent(name="one", model=one)
    second = LlmAgent(name="two", model=two, tools=[count])
    flow = Workflow(name="flow", edges=[(START, first, second)])
    async with local_server(flow, service=service, resumable=True) as server:
        run = await server.say("go")
        entries = await server.entries(run)
        called = next(i for i, e in enumerate(entries, 1) if b'"functionCall"' in _bytes(e))
        asked_before = len(one.requests)
        for at in (called - 1, called, called + 1):
            two.then("Otherwise. ")
            forked = await server.fork(run, at)
            new = await server.entries(forked["run"])
            assert b"Otherwise" in b"".join(map(_bytes, new)), at
            assert new[-1].record == RunEnded(outcome="finished")
            assert len(one.requests) == asked_before
            assert check_laws(new) == []


async def test_an_app_that_cannot_resume_needs_a_message() -> None:
    """The older workflow agents resume only with a ResumabilityConfig: 409, and nothing is left."""
    model = Scripted.saying(call("count", "c1"), "One. ")
    root = SequentialAgent(name="root", sub_agents=[agent(model)])
    async with local_server(root) as server:
        run = await server.say("count")
        entries = await server.entries(run)
        called = next(i for i, e in enumerate(entries, 1) if b'"functionCall"' in _bytes(e))
        runs, sessions = await _everything(server)
        answer = await server.client.post(f"/api/runs/{run}/fork", json={"at": called})
        assert answer.status_code == 409
        assert "Send a message" in answer.json()["detail"]
        assert await _everything(server) == (runs, sessions)
        model.then("Hello. ")
        forked = await server.fork(run, called, newMessage=hello())
        assert (await server.entries(forked["run"]))[-1].record == RunEnded(outcome="finished")
        model.then(call("count", "c9"), "Two. ")
        again = await server.fork(run, 1)
        assert again["goesOn"] == "again"
        assert (await server.entries(again["run"]))[-1].record == RunEnded(outcome="finished")


async def _everything(server: LocalServer) -> tuple[list[str], list[str]]:
    runs = [summary.run for summary in await server.context.log.list()]
    listed = (await server.client.get(PATH)).json()
    return runs, sorted(session["id"] for session in listed)


# ------------------------------------------------------------------ people


def gated() -> tuple[list[str], FunctionTool]:
    ran: list[str] = []

    def pay(amount: int) -> Json:
        """Pay."""
        ran.append(str(amount))
        return {"paid": amount}

    return ran, FunctionTool(pay, require_confirmation=True)


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_a_pending_approval_is_answered_in_the_fork(
    service: BaseSessionService, resumable: bool
) -> None:
    """The tool runs there; the original still waits, and is answered on its own."""
    ran, pay = gated()
    model = Scripted.saying(call("pay", "p1", amount=5))
    async with local_server(
        agent(model, tools=[pay]), service=service, resumable=resumable
    ) as server:
        run = await server.say("pay")
        entries = await server.entries(run)
        assert entries[-1].record == RunEnded(outcome="waiting")
        asking = next(
            i for i, e in enumerate(entries, 1) if b"adk_request_confirmation" in _bytes(e)
        )
        for at in (asking, len(entries)):
            forked = await server.fork(run, at)
            assert forked["goesOn"] == "nothing"
            await server.entries(forked["run"])
            assert ran == []
            model.then("Paid. ")
            await _approve(server, forked["session"])
            assert ran == ["5"]
            assert texts((await server.messages(forked["session"]))[-1]) == "Paid."
            ran.clear()
        assert (await server.messages())[-1]["parts"][-1]["state"] == "approval-requested"
        model.then("Paid here. ")
        await _approve(server, SESSION)
        assert ran == ["5"]


async def _approve(server: LocalServer, session: str) -> str:
    last = (await server.messages(session))[-1]
    part = next(p for p in last["parts"] if p.get("state") == "approval-requested")
    response = {"name": "adk_request_confirmation", "id": part["approval"]["id"]}
    answer = response | {"response": {"confirmed": True}}
    message = {"role": "user", "parts": [{"functionResponse": answer}]}
    run = await server.post_run(session, newMessage=message)
    await server.entries(run)
    return run


async def test_a_fork_may_answer_at_once() -> None:
    """The message that it begins with is the answer."""
    ran, pay = gated()
    model = Scripted.saying(call("pay", "p1", amount=5))
    async with local_server(agent(model, tools=[pay])) as server:
        run = await server.say("pay")
        entries = await server.entries(run)
        last = (await server.messages())[-1]
        approval = next(p["approval"]["id"] for p in last["parts"] if "approval" in p)
        response = {"name": "adk_request_confirmation", "id": approval}
        part = {"functionResponse": response | {"response": {"confirmed": True}}}
        model.then("Paid. ")
        forked = await server.fork(run, len(entries), newMessage={"role": "user", "parts": [part]})
        new = await server.entries(forked["run"])
        assert ran == ["5"]
        assert check_laws(new) == []
        [_, message] = await server.messages(forked["session"])
        assert texts(message) == "Paid."


@pytest.mark.parametrize("at_start", [True, False], ids=["at its start", "after the tool"])
async def test_a_continuation_is_forked(at_start: bool) -> None:
    """Its answer belongs to it: at its start the approval is given again, later it has been given."""
    ran, pay = gated()
    model = Scripted.saying(call("pay", "p1", amount=5))
    async with local_server(agent(model, tools=[pay])) as server:
        await server.say("pay")
        model.then("Paid. ")
        second = await _approve(server, SESSION)
        entries = await server.entries(second)
        paid = next(i for i, e in enumerate(entries, 1) if b'"paid"' in _bytes(e))
        ran.clear()
        model.then("Paid elsewhere. ")
        forked = await server.fork(second, 1 if at_start else paid)
        new = await server.entries(forked["run"])
        assert ran == (["5"] if at_start else [])
        assert check_laws(new) == []
        messages = await server.messages(forked["session"])
        assert [m["role"] for m in messages] == ["user", "assistant"]
        assert texts(messages[1]) == "Paid elsewhere."
        head = new[0].record
        assert isinstance(head, RunStarted)
        assert head.continues is not None
        assert head.continues.message == messages[1]["id"]


# ------------------------------------------------------------------ what is shared


async def test_shared_state_is_left_alone_and_told_of() -> None:
    """The user's and the app's values of today stay, in every session; keys that differ are named."""
    model = Scripted.saying(
        call("share", "s1", text="old"), "Told. ", call("share", "s2", text="new")
    )
    async with local_server(agent(model)) as server:
        run = await server.say("tell", "one")
        model.then("Told. ")
        await server.say("tell again", "two")
        entries = await server.entries(run)
        model.then("Well. ")
        forked = await server.fork(run, len(entries), newMessage=hello())
        await server.entries(forked["run"])
        assert forked["warnings"] == ["app:told", "user:told"]
        session = await server.session(forked["session"])
        assert session["state"] == {"told": "old", "user:told": "new", "app:told": "new"}
        other = await server.session("two")
        assert other["state"] == {"told": "new", "user:told": "new", "app:told": "new"}
        model.then("Well. ")
        early = await server.fork(run, 1, newMessage=hello())
        assert early["warnings"] == ["app:told", "user:told"]


async def test_a_client_s_own_artifact_comes_along_and_the_user_s_stays() -> None:
    """What no event tells of is taken by its time; `user:` artifacts are every session's anyway."""
    model = Scripted.saying("One. ", "Two. ")
    async with local_server(agent(model)) as server:
        await server.client.post(f"{PATH}/{SESSION}")

        async def save(name: str, text: str) -> None:
            body = {"filename": name, "artifact": {"text": text}}
            saved = await server.client.post(f"{PATH}/{SESSION}/artifacts", json=body)
            assert saved.status_code == 200, saved.text

        await save("early.txt", "early")
        await save("user:mine.txt", "mine")
        run = await server.say("first")
        await save("late.txt", "late")
        model.then("Well. ")
        last = len(await server.entries(run))
        forked = await server.fork(run, last, newMessage=hello())
        await server.entries(forked["run"])
        names = (await server.client.get(f"{PATH}/{forked['session']}/artifacts")).json()
        assert sorted(names) == ["early.txt", "user:mine.txt"]


async def test_versions_match_also_after_a_rewind() -> None:
    """Numbers that the history mentions are right, and the latest is what it was at the cursor."""
    model = Scripted.saying(
        call("note", "n1", text="one"), "Noted. ", call("note", "n2", text="two"), "Noted. "
    )
    async with local_server(agent(model)) as server:
        await server.say("first")
        second = await server.say("second")
        invocation = (await server.client.get(f"/api/runs/{second}")).json()["invocation"]
        await server.client.post(f"{PATH}/{SESSION}/rewind", json={"invocationId": invocation})
        model.then(call("note", "n3", text="three"), "Noted. ")
        third = await server.say("third")
        entries = await server.entries(third)
        model.then("Well. ", "Well. ")
        forked = await server.fork(third, len(entries), newMessage=hello())
        await server.entries(forked["run"])
        assert await notes(server, forked["session"]) == [b"one", b"two", b"one", b"three"]
        ids = {part for kind, part in asked(model) if kind == "answers"}
        assert ids == {"n1", "n3"}
        void = await server.fork(second, len(await server.entries(second)), newMessage=hello())
        await server.entries(void["run"])
        assert await notes(server, void["session"]) == [b"one", b"two"]
        assert {part for kind, part in asked(model) if kind == "answers"} == {"n1", "n2"}


# ------------------------------------------------------------------ forks of forks, lost sessions


async def test_a_fork_of_a_fork_of_a_fork(service: BaseSessionService) -> None:
    """Each has the history of those before it, and none knows of its children."""
    model = tour()
    async with local_server(agent(model), service=service) as server:
        runs = await play(server)
        run, session = runs[0], SESSION
        for number in range(3):
            model.then(f"Reply {number}. ")
            before = await server.stored(session)
            forked = await server.fork(
                run, len(await server.entries(run)), newMessage=hello(f"Fork {number}")
            )
            await server.entries(forked["run"])
            assert await server.stored(session) == before
            run, session = forked["run"], forked["session"]
        said = [pair for pair in asked(model) if pair[0] in ("user", "model")]
        assert said == [
            ("user", "first"),
            ("model", "Counted and noted."),
            ("user", "Fork 0"),
            ("model", "Reply 0."),
            ("user", "Fork 1"),
            ("model", "Reply 1."),
            ("user", "Fork 2"),
        ]
        shown = [texts(m) for m in await server.messages(session)]
        assert shown[2:] == ["Fork 0", "Reply 0.", "Fork 1", "Reply 1.", "Fork 2", "Reply 2."]
        assert (await server.session(session))["state"] == {"tone": "brief", "count": 1}
        assert await notes(server, session) == [b"one"]


async def test_a_copied_run_names_the_run_that_took_place_and_what_it_took() -> None:
    """A copy is written in one go, and has no model calls: of a copy's copy, the first one's."""
    model = tour()
    async with local_server(agent(model)) as server:

        async def described(session: str) -> list[Json]:
            listed = (await server.client.get("/api/runs", params={"session": session})).json()
            found = [
                (await server.client.get(f"/api/runs/{each['run']}")).json() for each in listed
            ]
            return sorted(found, key=lambda run: run["started"])

        runs = await play(server)
        took = {run["run"]: run["ended"] - run["started"] for run in await described(SESSION)}
        run = runs[1]
        for number in range(2):
            model.then("Later. ")
            at = len(await server.entries(run))
            forked = await server.fork(run, at, newMessage=hello(f"Fork {number}"))
            await server.entries(forked["run"])
            first, second, *own = await described(forked["session"])
            assert [one["copiedFrom"]["run"] for one in (first, second)] == runs[:2]
            assert first["copiedFrom"]["seconds"] == took[runs[0]]
            assert 0 < second["copiedFrom"]["seconds"] <= took[runs[1]]
            run = second["run"]
            assert not any("copiedFrom" in one for one in own)
            assert len(own) == 1


async def test_a_fork_can_be_rewound_to_its_first_message(service: BaseSessionService) -> None:
    """Initial state survives, as everywhere; so the fork keeps it as an event of its own."""
    model = Scripted.saying(call("count", "c1"), "One. ")
    async with local_server(agent(model), service=service) as server:
        await server.runner.session_service.create_session(
            app_name=APP, user_id=USER, session_id=SESSION, state={"given": [1, 2]}
        )
        run = await server.say("first")
        model.then("Well. ")
        forked = await server.fork(run, len(await server.entries(run)), newMessage=hello())
        await server.entries(forked["run"])
        session = await server.session(forked["session"])
        assert session["state"] == {"given": [1, 2], "count": 1}
        invocation = next(e["invocationId"] for e in session["events"] if "content" in e)
        answer = await server.client.post(
            f"{PATH}/{forked['session']}/rewind", json={"invocationId": invocation}
        )
        assert answer.json()["state"] == {"given": [1, 2]}
        assert await server.messages(forked["session"]) == []


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_a_session_that_is_gone_is_rebuilt_from_its_runs(resumable: bool) -> None:
    """Messages, calls, answers and state are in the log; only artifacts had to be kept elsewhere."""
    _, pay = gated()
    model = Scripted.saying(call("count", "c1"), "One. ", call("pay", "p1", amount=5))
    async with local_server(agent(model, tools=[pay]), resumable=resumable) as server:
        await server.client.post(f"{PATH}/{SESSION}", json={"tone": "brief"})
        await server.say("first")
        await server.client.patch(f"{PATH}/{SESSION}", json={"stateDelta": {"tone": "long"}})
        await server.say("pay")
        model.then("Paid. ")
        last = await _approve(server, SESSION)
        entries = await server.entries(last)
        model.then("Here. ")
        kept = await server.fork(last, len(entries), newMessage=hello())
        await server.entries(kept["run"])
        wanted = asked(model)
        await server.runner.session_service.delete_session(
            app_name=APP, user_id=USER, session_id=SESSION
        )
        model.then("Here. ")
        forked = await server.fork(last, len(entries), newMessage=hello())
        await server.entries(forked["run"])
        assert asked(model) == wanted
        session = await server.session(forked["session"])
        assert session["state"] == {"tone": "long", "count": 1}
        assert len(await server.messages(forked["session"])) == len(
            await server.messages(kept["session"])
        )


async def test_an_uploaded_recording_is_forked() -> None:
    """By itself, in the app of its name; what it does not hold is told, or an error."""
    model = tour()
    async with local_server(agent(model)) as server:
        runs = await play(server)
        file = (await server.client.get(f"/api/runs/{runs[1]}/recording")).content
    other = Scripted.saying("Well. ")
    async with local_server(agent(other)) as server:
        headers = {"content-type": "application/jsonl"}
        made = await server.client.post("/api/recordings", content=file, headers=headers)
        run, last = made.json()["run"], made.json()["cursor"]
        forked = await server.fork(run, last, newMessage=hello())
        await server.entries(forked["run"])
        assert asked(other) == [
            ("user", "second"),
            ("calls", "c2"),
            ("answers", "c2"),
            ("calls", "n2"),
            ("answers", "n2"),
            ("model", "Again."),
            ("user", "and now?"),
        ]
        session = await server.session(forked["session"])
        assert session["state"] == {"tone": "brief", "count": 2}
        assert forked["missingArtifacts"] == ["notes.txt"]
        assert len(await server.messages(forked["session"])) == 4
        for cursor in range(1, last):
            other.then("Otherwise. ")
            again = await server.fork(run, cursor)
            assert check_laws(await server.entries(again["run"])) == []


async def test_an_upload_is_continued_by_an_app_of_this_server() -> None:
    """As a session of its own that links to the upload: nothing of it is resumed, and it can be talked to."""
    ran, pay = gated()
    async with local_server(
        agent(Scripted.saying(call("pay", "p1", amount=5)), tools=[pay])
    ) as server:
        run = await server.say("pay")
        await server.entries(run)
        events = (await server.session())["events"]
    capture = "\n".join(map(json.dumps, events)).encode()
    model = Scripted.saying("Well. ")
    async with local_server(agent(model, tools=[pay]), resumable=True) as server:
        headers = {"content-type": "application/jsonl"}
        made = (
            await server.client.post("/api/recordings", content=capture, headers=headers)
        ).json()
        unserved = await server.client.post(f"/api/runs/{made['run']}/fork", json={"at": 1})
        assert unserved.status_code == 404
        assert "app" in unserved.json()["detail"]
        forked = await server.fork(made["run"], made["cursor"], appName=APP)
        assert (forked["app"], forked["goesOn"]) == (APP, "nothing")
        await server.entries(forked["run"])
        parts = [
            part for each in await server.messages(forked["session"]) for part in each["parts"]
        ]
        assert "approval-requested" not in [part.get("state") for part in parts]
        await server.say("and now?", forked["session"])
        assert ("user", "pay") in asked(model)
        assert ran == []
        listed = (await server.client.get("/api/conversations")).json()
        found = {each["session"]: each for each in listed}
        assert found[forked["session"]]["forkedFrom"]["run"] == made["run"]
        (fork,) = found[made["session"]]["forks"]
        assert (fork["app"], fork["session"]) == (APP, forked["session"])
        body = {"at": 1, "appName": "other"}
        assert (await server.client.post(f"/api/runs/{forked['run']}/fork", json=body)).is_error


async def test_the_recording_of_a_continuation_alone() -> None:
    """The calls that it answers are not in it, so no model is shown their answers."""
    model = Scripted.saying("Well. ")
    async with local_server(agent(model)) as server:
        file = (RECORDINGS / "approval.2.jsonl").read_bytes().replace(b'"tour"', b'"app"')
        headers = {"content-type": "application/jsonl"}
        made = (await server.client.post("/api/recordings", content=file, headers=headers)).json()
        forked = await server.fork(made["run"], made["cursor"], newMessage=hello())
        new = await server.entries(forked["run"])
        assert new[-1].record == RunEnded(outcome="finished")
        assert {kind for kind, _ in asked(model)} <= {"user", "model"}


async def test_an_upload_never_reads_the_session_it_names() -> None:
    """Its origin is a claim: nobody gets at a session's events or artifacts by it."""
    model = tour()
    async with local_server(agent(model)) as server:
        runs = await play(server)
        file = (await server.client.get(f"/api/runs/{runs[0]}/recording")).content
        lines = file.splitlines(keepends=True)
        headers = {"content-type": "application/jsonl"}
        made = await server.client.post(
            "/api/recordings",
            content=lines[0] + lines[-1].replace(b'"cursor":%d' % len(lines), b'"cursor":2'),
            headers=headers,
        )
        assert made.status_code == 201, made.text
        model.then("Well. ")
        forked = await server.fork(made.json()["run"], 2, newMessage=hello())
        await server.entries(forked["run"])
        assert asked(model) == [("user", "first"), ("user", "and now?")]
        assert await notes(server, forked["session"]) == []


# ------------------------------------------------------------------ refusals, failures, keys


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"at": 0}, 400),
        ({"at": 99}, 400),
        ({"at": -1}, 400),
        ({"at": 10**15}, 400),
        ({}, 422),
        ({"at": "2"}, 422),
        ({"at": 1.5}, 422),
        ({"at": True}, 422),
        ({"at": 2, "newMessage": "hi"}, 422),
        ({"at": 2, "newMessage": {"parts": [{"text": 1}]}}, 422),
        ({"at": 2, "newMessage": {"parts": [{"functionCall": {"name": "x"}}]}}, 422),
        ({"at": 2, "stateDelta": {"user:plan": "gold"}}, 403),
        ({"at": 2, "stateDelta": {"app:admin": True}}, 403),
        ({"at": 2, "sessionId": "../x"}, 400),
        ({"at": 2, "sessionId": SESSION}, 409),
    ],
)
async def test_what_cannot_be_forked_is_refused_and_leaves_nothing(body: Json, status: int) -> None:
    """Before anything is made."""
    async with local_server(agent(Scripted.saying("Hi. "))) as server:
        run = await server.say("hello")
        before = await _everything(server)
        stored = await server.stored()
        answer = await server.client.post(f"/api/runs/{run}/fork", json=body)
        assert answer.status_code == status, answer.text
        assert await _everything(server) == before
        assert await server.stored() == stored


async def test_an_unknown_run_a_deleted_one_and_an_app_that_is_gone() -> None:
    """404, 410, and 404 that names the app."""
    async with local_server(agent(Scripted.saying("Hi. "))) as server:
        body = {"at": 1}
        assert (await server.client.post("/api/runs/nobody/fork", json=body)).status_code == 404
        capture = b'{"author":"agent","id":"e1"}\n'
        headers = {"content-type": "application/jsonl"}
        made = await server.client.post("/api/recordings", content=capture, headers=headers)
        answer = await server.client.post(f"/api/runs/{made.json()['run']}/fork", json=body)
        assert answer.status_code == 404
        assert "'recording'" in answer.json()["detail"]
        run = await server.say("hello")
        await server.client.delete(f"{PATH}/{SESSION}")
        assert (await server.client.post(f"/api/runs/{run}/fork", json=body)).status_code == 410


async def test_the_session_may_be_named() -> None:
    """And is there under that name."""
    async with local_server(agent(Scripted.saying("Hi. ", "Ho. "))) as server:
        run = await server.say("hello")
        forked = await server.fork(run, 1, newMessage=hello(), sessionId="my fork")
        await server.entries(forked["run"])
        assert (forked["session"], forked["app"], forked["user"]) == ("my fork", APP, USER)
        assert (await server.session("my fork"))["id"] == "my fork"


class Failing(InMemorySessionService):
    """A session service that fails at one append of a session that is not the original's."""

    fails_at = 10**6
    appended = 0

    async def append_event(self, session: Any, event: Any) -> Any:
        if session.id != SESSION:
            self.appended += 1
            if self.appended == self.fails_at:
                raise OSError("disk full at /secret/path")
        return await super().append_event(session, event)


class FullLog(MemoryLog):
    """A log without room for another run."""

    full = False

    async def append(self, run: Any, records: Any, **more: Any) -> Any:
        if self.full:
            raise LogError("No room.")
        return await super().append(run, records, **more)


async def test_a_fork_that_fails_half_way_leaves_nothing() -> None:
    """At whichever step: no session, no runs, no artifacts; the client learns nothing of the cause."""
    model, service, log = tour(), Failing(), FullLog()
    async with local_server(agent(model), service=service, log=log) as server:
        runs = await play(server)
        before = await _everything(server)
        artifacts = server.runner.artifact_service
        kept = set(artifacts.artifacts)  # type: ignore[union-attr]
        last = len(await server.entries(runs[1]))
        for step in range(1, 9):
            service.appended, service.fails_at = 0, step
            answer = await server.client.post(
                f"/api/runs/{runs[1]}/fork", json={"at": last, "stateDelta": {"x": 1}}
            )
            assert answer.status_code == 500, step
            assert "secret" not in answer.text
            assert await _everything(server) == before
        service.fails_at = 10**6
        log.full = True
        body = {"at": last, "newMessage": hello()}
        assert (await server.client.post(f"/api/runs/{runs[1]}/fork", json=body)).status_code == 503
        log.full = False
        assert await _everything(server) == before
        assert set(artifacts.artifacts) == kept  # type: ignore[union-attr]


async def test_the_same_key_makes_one_fork() -> None:
    """Repeated, it finds the fork; with another body it is refused."""
    model = Scripted.saying("Hi. ", "Ho. ")
    async with local_server(agent(model)) as server:
        run = await server.say("hello")
        headers = {"idempotency-key": "k"}
        body = {"at": 1, "newMessage": hello()}
        url = f"/api/runs/{run}/fork"
        first, second = await asyncio.gather(
            *(server.client.post(url, json=body, headers=headers) for _ in range(2))
        )
        assert first.status_code == second.status_code == 200
        assert first.json()["run"] == second.json()["run"]
        assert first.json()["session"] == second.json()["session"]
        assert len((await server.client.get(PATH)).json()) == 2
        other = await server.client.post(url, json={"at": 2}, headers=headers)
        assert other.status_code == 422
        await server.entries(first.json()["run"])
        model.then("Hey. ")
        for at in (1, 3):  # without a message the key is kept as well
            headers = {"idempotency-key": f"k{at}"}
            first = await server.client.post(url, json={"at": at}, headers=headers)
            second = await server.client.post(url, json={"at": at}, headers=headers)
            assert first.json()["run"] == second.json()["run"], at


async def test_credentials_come_along_unredacted() -> None:
    """The fork is made of the session, not of what may be shown of it."""
    secret = {"rawAuthCredential": {"authType": "apiKey", "apiKey": "s3cret"}}
    model = Scripted.saying("Hi. ", "Ho. ")
    async with local_server(agent(model)) as server:
        await server.runner.session_service.create_session(
            app_name=APP, user_id=USER, session_id=SESSION, state={"auth": secret}
        )
        run = await server.say("hello")
        forked = await server.fork(run, 1, newMessage=hello())
        await server.entries(forked["run"])
        assert (await server.stored(forked["session"]))["state"] == {"auth": secret}
        shown = await server.client.get(f"{PATH}/{forked['session']}")
        assert "s3cret" not in shown.text
