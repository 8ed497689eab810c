"""Versions of an answer: earlier ones can be looked at, and sending from one restores its conversation."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.cut_off import Cut
from tests.server.cut_off import again as regenerate
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server, texts
from tests.server.test_lineage import assistant, is_stale, rewound, user
from tests.server.test_lineage import post as post_list
from tests.server.test_lineage import post_named as post

from adk_prism.adk.sessions import Sessions, bring_back, find_version
from adk_prism.log.entry import Origin, RunStarted
from adk_prism.log.sqlite.store import SqliteLog

Json = dict[str, Any]
HERE = Origin(app=APP, user=USER, session=SESSION)


@asynccontextmanager
async def service_of(kind: str, folder: Any) -> AsyncIterator[BaseSessionService]:
    if kind == "sqlite":
        yield SqliteSessionService(f"{folder}/sessions.db")
    elif kind == "database":
        async with DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/sessions.db") as service:
            yield service
    else:
        yield InMemorySessionService()


async def send(server: LocalServer, *messages: Json, **body: Any) -> str:
    answer = await post(server, *messages, **body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


async def again(server: LocalServer, message: str) -> str:
    return await send(server, trigger="regenerate-message", messageId=message)


async def shown(server: LocalServer, version: str = "") -> list[str]:
    path = f"/api/chat/{APP}/{SESSION}/messages"
    answer = await server.client.get(path, params={"version": version} if version else {})
    assert answer.status_code == 200, answer.text
    return [texts(message) for message in answer.json()]


async def versions(server: LocalServer) -> list[list[Json]]:
    answer = await server.client.get(f"/api/chat/{APP}/{SESSION}/versions")
    assert answer.status_code == 200, answer.text
    found: list[list[Json]] = answer.json()
    return found


def asked(model: Scripted) -> list[str]:
    """Return the texts of the last request."""
    return [part.text for c in model.requests[-1] for part in c.parts or () if part.text]


async def count(server: LocalServer) -> int:
    found: int = (await server.session())["state"].get("count", 0)
    return found


@dataclass(frozen=True)
class Said:
    """A turn as a test knows it."""

    answer: str
    name: str
    text: str
    path: tuple[str, ...]
    """What the conversation says, up to and with it."""


@pytest.mark.parametrize(
    ("kind", "seed", "steps"),
    [("memory", 1, 12), ("memory", 2, 12), ("sqlite", 3, 8), ("database", 4, 6)],
)
async def test_any_walk_through_the_versions(
    kind: str, seed: int, steps: int, tmp_path: Any
) -> None:
    """Sending, regenerating and editing anywhere: model, messages and state are those of the branch.

    Some changes of the session are cut off: then it is as if nothing had been sent.
    """
    chance = random.Random(seed)
    model = Scripted()
    async with (
        service_of(kind, tmp_path) as service,
        local_server(agent(model), service=service) as server,
    ):
        turns: list[Said] = []
        cut, cuts = Cut(service), 0
        for number in range(steps):
            cut.after = limit = chance.choice([None, 0, 2, 5])
            model.say_nothing_more()
            model.then(call("count", f"c{number}"), f"A{number}.")
            chosen = chance.choice(turns) if turns else None
            how = chance.choice(["after", "after", "again", "edit"]) if chosen else "first"
            name, text, before = f"u{number}", f"Q{number}", chosen.path if chosen else ()
            if chosen is None:
                answer = await post(server, user(name, text))
            elif how == "after":
                answer = await post(server, assistant(chosen.answer), user(name, text))
            else:
                before = chosen.path[:-2]
                if how == "again":
                    name, text = chosen.name, chosen.text
                    answer = await regenerate(server, chosen.answer)
                elif before:
                    parent = next(t.answer for t in turns if t.path == before)
                    answer = await post(server, assistant(parent), user(name, text))
                else:
                    answer = await post(server, user(name, text), history="client")
            if cut.after is None and limit is not None:
                assert answer.status_code == 503, answer.text
                cuts += 1
                continue
            assert answer.status_code == 200, answer.text
            path = (*before, text, f"A{number}.")
            assert asked(model) == list(path[:-1])
            assert await shown(server) == list(path)
            assert await count(server) == len(path) // 2
            turns.append(Said(answer.headers["x-prism-run"], name, text, path))
        assert cuts
        for turn in turns:
            assert (await shown(server, turn.answer))[: len(turn.path)] == list(turn.path)
        groups = await versions(server)
        assert all(sum(each["current"] for each in group) <= 1 for group in groups)


async def test_versions_are_listed_and_survive_a_restart(tmp_path: Any) -> None:
    """Oldest first, the live one marked; a new server says the same and restores one."""
    service = SqliteSessionService(f"{tmp_path}/sessions.db")
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    file = tmp_path / "runs.db"
    async with local_server(agent(model), service=service, log=SqliteLog(file)) as server:
        one = await send(server, user("u1"))
        two = await send(server, assistant(one), user("u2"))
        three = await again(server, one)
        assert await versions(server) == await versions(server)
    async with local_server(agent(model), service=service, log=SqliteLog(file)) as server:
        (group,) = await versions(server)
        assert [(each["messageId"], each["current"]) for each in group] == [
            (one, False),
            (three, True),
        ]
        assert {each["userMessageId"] for each in group} == {"u1"}
        assert await shown(server) == ["u1", "Three."]
        assert await shown(server, two) == await shown(server, one) == ["u1", "One.", "u2", "Two."]
        four = await post(server, assistant(two), user("u9"))
        assert rewound(four) == [[three]], "the user's message is there again"
        assert await shown(server) == ["u1", "One.", "u2", "Two.", "u9", "Four."]
        assert asked(model) == ["u1", "One.", "u2", "Two.", "u9"]
        head = (await server.entries(four.headers["x-prism-run"]))[0].record
        assert isinstance(head, RunStarted)
        assert (head.replaces, head.restores) == (three, two)
    async with local_server(agent(model), service=service, log=SqliteLog(file)) as server:
        assert await shown(server) == ["u1", "One.", "u2", "Two.", "u9", "Four."]


async def test_an_unknown_version_is_a_404() -> None:
    async with local_server(agent(Scripted.saying("One."))) as server:
        await send(server, user("u1"))
        path = f"/api/chat/{APP}/{SESSION}/messages"
        assert (await server.client.get(path, params={"version": "nobody"})).status_code == 404
        assert await versions(server) == []


async def note_of(server: LocalServer) -> bytes:
    service: BaseArtifactService | None = server.runner.artifact_service
    assert service is not None
    part = await service.load_artifact(
        app_name=APP, user_id=USER, session_id=SESSION, filename="notes.txt"
    )
    assert part is not None
    assert part.inline_data is not None
    return part.inline_data.data or b""


async def test_artifacts_are_those_of_the_version() -> None:
    """Whatever later versions wrote; and a rewind after that finds them."""
    model = Scripted.saying(call("note", "c1", text="one"), "One.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        model.then(call("note", "c2", text="two"), "Two.", "Three.")
        two = await send(server, assistant(one), user("u2"))
        model.then(call("note", "c3", text="three"), "Four.")
        await send(server, assistant(one), user("u3"))
        await again(server, one)
        model.then(call("note", "c5", text="five"), "Five.")
        five = await send(server, assistant(two), user("u5"))
        assert await note_of(server) == b"five"
        model.then("Six.")
        await again(server, five)
        assert await note_of(server) == b"two"
        assert asked(model) == ["u1", "One.", "u2", "Two.", "u5"]


def erase() -> Json:
    """Erase all."""
    return {"erased": True}


def asking(model: Scripted) -> Any:
    return agent(model, tools=[FunctionTool(erase, require_confirmation=True)])


async def test_regenerated_while_an_approval_waits() -> None:
    """The question of the earlier version is shown, cannot be answered, and expires when it is restored."""
    model = Scripted.saying(call("erase", "c1"), "Never mind.", "Nothing was erased.")
    async with local_server(asking(model)) as server:
        waiting = await send(server, user("u1"))
        asked_for = (await server.messages())[-1]
        await again(server, waiting)
        part = next(p for p in asked_for["parts"] if p["type"] == "tool-erase")
        answered = {
            **part,
            "state": "approval-responded",
            "approval": {**part["approval"], "approved": True},
        }
        late = await post(server, user("u1"), {**asked_for, "parts": [answered]})
        assert late.status_code == 409
        path = f"/api/chat/{APP}/{SESSION}/messages?version={waiting}&dialect=7"
        (old,) = [p for p in (await server.client.get(path)).json()[-1]["parts"] if "approval" in p]
        assert old["state"] != "approval-requested", "nobody is asked any more"
        await send(server, assistant(waiting), user("u2"))
        assert (await shown(server))[-2:] == ["u2", "Nothing was erased."]
        again_late = await post(server, user("u1"), {**asked_for, "parts": [answered]})
        assert again_late.status_code == 409
        parts = [part for content in model.requests[-1] for part in content.parts or ()]
        results = [part.function_response.response for part in parts if part.function_response]
        assert {"erased": True} not in results


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
async def test_a_failed_version(stored: bool) -> None:
    """It is a version like others; what ADK kept of it is there again."""
    model = Scripted.saying("One.", RuntimeError("boom"), "Two.", "Three.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        failed = await send(server, assistant(one), user("u2"))
        if not stored:  # As if it had failed before ADK stored its message.
            await _forget(server, failed)
        await send(server, assistant(one), user("u3"))
        assert asked(model) == ["u1", "One.", "u3"]
        await send(server, assistant(failed), user("u4"))
        assert asked(model) == ["u1", "One.", *(["u2"] if stored else []), "u4"]
        assert [t for t in await shown(server) if t] == ["u1", "One.", "u2", "u4", "Three."]


async def _forget(server: LocalServer, run: str) -> None:
    invocation = (await server.client.get(f"/api/runs/{run}")).json()["invocation"]
    session = server.runner.session_service.sessions[APP][USER][SESSION]  # type: ignore[attr-defined]
    session.events[:] = [e for e in session.events if e.invocation_id != invocation]


async def test_an_interrupted_restoration_is_no_version() -> None:
    """A process that died while it copied leaves nothing that is taken for the conversation."""
    model = Scripted.saying(call("count", "c1"), "One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        await again(server, one)
        sessions = Sessions(server.runner.session_service)
        before = (await sessions.get(HERE)).events
        names = [(await server.client.get(f"/api/runs/{one}")).json()["invocation"]]
        version = find_version(before, names, names, "")
        await bring_back(server.runner, HERE, version)
        stored = server.runner.session_service.sessions[APP][USER][SESSION]  # type: ignore[attr-defined]
        del stored.events[-2:]  # The last answer and the end of the copies.
        await send(server, assistant(one), user("u3"))
        assert asked(model) == ["u1", "One.", "u3"]
        assert await count(server) == 1


async def test_a_version_that_the_session_lost_is_refused() -> None:
    """409, and the conversation is as it was."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        await again(server, one)
        await _forget(server, one)
        refused = await post(server, assistant(one), user("u2"))
        assert refused.status_code == 409
        assert "fork" in refused.text
        await send(server, user("u3"))
        assert asked(model) == ["u1", "Two.", "u3"]


async def test_a_tab_that_shows_an_earlier_version_names_it_or_is_refused() -> None:
    """Another tab has regenerated the answer: without a name, nothing is restored in its place."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        await again(server, one)
        refused = await post_list(server, user("u1"), assistant(one), user("u2"))
        assert refused.status_code == 409
        assert is_stale(refused)
        assert await shown(server) == ["u1", "Two."]
        await send(server, user("u1"), assistant(one), user("u2"))
        assert await shown(server) == ["u1", "One.", "u2", "Three."]


async def test_two_tabs() -> None:
    """Each sends from what it shows, at once: the second restores its own, and nothing is lost."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model), chat_busy="wait") as server:
        one = await send(server, user("u1"))
        two = await again(server, one)
        both: Sequence[httpx.Response] = await asyncio.gather(
            post(server, user("u1"), assistant(one), user("left")),
            post(server, user("u1"), assistant(two), user("right")),
        )
        assert [answer.status_code for answer in both] == [200, 200]
        ends = [await shown(server, answer.headers["x-prism-run"]) for answer in both]
        assert [end[:3] for end in ends] == [["u1", "One.", "left"], ["u1", "Two.", "right"]]
        assert await shown(server) in ends


async def test_shared_state_is_not_written_again() -> None:
    """What a version once told every session of the user stays as it is today."""
    model = Scripted.saying(call("share", "c1", text="old"), "One.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        model.then(call("share", "c2", text="new"), "Two.", "Three.")
        await again(server, one)
        await send(server, assistant(one), user("u2"))
        state = (await server.session())["state"]
        assert (state["told"], state["user:told"]) == ("old", "new")


async def test_a_fork_after_a_restored_version() -> None:
    """It has the conversation once."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model)) as server:
        one = await send(server, user("u1"))
        await again(server, one)
        last = await send(server, assistant(one), user("u2"))
        end = len(await server.entries(last))
        message = types.UserContent("u3").model_dump(exclude_none=True)
        forked = await server.fork(last, end, newMessage=message)
        await server.entries(forked["run"])
        assert asked(model) == ["u1", "One.", "u2", "Three.", "u3"]
        said = [texts(m) for m in await server.messages(forked["session"])]
        assert said == ["u1", "One.", "u2", "Three.", "u3", "Four."]


async def test_the_agent_of_the_version_goes_on() -> None:
    """A version that was transferred to another agent is answered by that one."""
    model = Scripted.saying(call("transfer_to_agent", "t1", agent_name="other"), "Other here.")
    other = LlmAgent(name="other", model=model, description="Another.")
    async with local_server(agent(model, sub_agents=[other])) as server:
        one = await send(server, user("u1"))
        await again(server, one)
        last = await send(server, assistant(one), user("u2"))
        assert (await server.events(last))[-1]["author"] == "other"


def consult() -> None:
    """Ask somebody outside, who answers later."""


async def test_a_late_result_in_a_restored_version() -> None:
    """It goes on in that version, and the model gets the call once."""
    model = Scripted.saying(call("consult", "c1"), "Two.", "Three.", "Four.")
    async with local_server(agent(model, tools=[LongRunningFunctionTool(consult)])) as server:
        one = await send(server, user("u1"))
        asked_for = (await server.messages())[-1]
        await again(server, one)
        await send(server, assistant(one), user("u2"))
        (part,) = [p for p in asked_for["parts"] if p["type"] == "tool-consult"]
        given = {**part, "state": "output-available", "output": {"said": "yes"}}
        await send(server, {**asked_for, "parts": [given]}, messageId=one)
        parts = [part for content in model.requests[-1] for part in content.parts or ()]
        calls = [part.function_call.id for part in parts if part.function_call]
        results = [part.function_response.response for part in parts if part.function_response]
        assert (calls, results) == (["c1"], [{"said": "yes"}])
        assert [texts(m) for m in await server.messages()] == ["u1", "Four.", "u2", "Three."]
