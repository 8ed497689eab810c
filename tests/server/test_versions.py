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
from tests.server.staged import APP, SESSION, USER, Stage, agent, staging, texts
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


async def send(stage: Stage, *messages: Json, **body: Any) -> str:
    answer = await post(stage, *messages, **body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


async def again(stage: Stage, message: str) -> str:
    return await send(stage, trigger="regenerate-message", messageId=message)


async def shown(stage: Stage, version: str = "") -> list[str]:
    path = f"/api/chat/{APP}/{SESSION}/messages"
    answer = await stage.client.get(path, params={"version": version} if version else {})
    assert answer.status_code == 200, answer.text
    return [texts(message) for message in answer.json()]


async def versions(stage: Stage) -> list[list[Json]]:
    answer = await stage.client.get(f"/api/chat/{APP}/{SESSION}/versions")
    assert answer.status_code == 200, answer.text
    found: list[list[Json]] = answer.json()
    return found


def asked(model: Scripted) -> list[str]:
    """Return the texts of the last request."""
    return [part.text for c in model.requests[-1] for part in c.parts or () if part.text]


async def count(stage: Stage) -> int:
    found: int = (await stage.session())["state"].get("count", 0)
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
        staging(agent(model), service=service) as stage,
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
                answer = await post(stage, user(name, text))
            elif how == "after":
                answer = await post(stage, assistant(chosen.answer), user(name, text))
            else:
                before = chosen.path[:-2]
                if how == "again":
                    name, text = chosen.name, chosen.text
                    answer = await regenerate(stage, chosen.answer)
                elif before:
                    parent = next(t.answer for t in turns if t.path == before)
                    answer = await post(stage, assistant(parent), user(name, text))
                else:
                    answer = await post(stage, user(name, text), history="client")
            if cut.after is None and limit is not None:
                assert answer.status_code == 503, answer.text
                cuts += 1
                continue
            assert answer.status_code == 200, answer.text
            path = (*before, text, f"A{number}.")
            assert asked(model) == list(path[:-1])
            assert await shown(stage) == list(path)
            assert await count(stage) == len(path) // 2
            turns.append(Said(answer.headers["x-prism-run"], name, text, path))
        assert cuts
        for turn in turns:
            assert (await shown(stage, turn.answer))[: len(turn.path)] == list(turn.path)
        groups = await versions(stage)
        assert all(sum(each["current"] for each in group) <= 1 for group in groups)


async def test_versions_are_listed_and_survive_a_restart(tmp_path: Any) -> None:
    """Oldest first, the live one marked; a new server says the same and restores one."""
    service = SqliteSessionService(f"{tmp_path}/sessions.db")
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    file = tmp_path / "runs.db"
    async with staging(agent(model), service=service, log=SqliteLog(file)) as stage:
        one = await send(stage, user("u1"))
        two = await send(stage, assistant(one), user("u2"))
        three = await again(stage, one)
        assert await versions(stage) == await versions(stage)
    async with staging(agent(model), service=service, log=SqliteLog(file)) as stage:
        (group,) = await versions(stage)
        assert [(each["messageId"], each["current"]) for each in group] == [
            (one, False),
            (three, True),
        ]
        assert {each["userMessageId"] for each in group} == {"u1"}
        assert await shown(stage) == ["u1", "Three."]
        assert await shown(stage, two) == await shown(stage, one) == ["u1", "One.", "u2", "Two."]
        four = await post(stage, assistant(two), user("u9"))
        assert rewound(four) == [[three]], "the user's message is there again"
        assert await shown(stage) == ["u1", "One.", "u2", "Two.", "u9", "Four."]
        assert asked(model) == ["u1", "One.", "u2", "Two.", "u9"]
        head = (await stage.entries(four.headers["x-prism-run"]))[0].record
        assert isinstance(head, RunStarted)
        assert (head.replaces, head.restores) == (three, two)
    async with staging(agent(model), service=service, log=SqliteLog(file)) as stage:
        assert await shown(stage) == ["u1", "One.", "u2", "Two.", "u9", "Four."]


async def test_an_unknown_version_is_a_404() -> None:
    async with staging(agent(Scripted.saying("One."))) as stage:
        await send(stage, user("u1"))
        path = f"/api/chat/{APP}/{SESSION}/messages"
        assert (await stage.client.get(path, params={"version": "nobody"})).status_code == 404
        assert await versions(stage) == []


async def note_of(stage: Stage) -> bytes:
    service: BaseArtifactService | None = stage.runner.artifact_service
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
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        model.then(call("note", "c2", text="two"), "Two.", "Three.")
        two = await send(stage, assistant(one), user("u2"))
        model.then(call("note", "c3", text="three"), "Four.")
        await send(stage, assistant(one), user("u3"))
        await again(stage, one)
        model.then(call("note", "c5", text="five"), "Five.")
        five = await send(stage, assistant(two), user("u5"))
        assert await note_of(stage) == b"five"
        model.then("Six.")
        await again(stage, five)
        assert await note_of(stage) == b"two"
        assert asked(model) == ["u1", "One.", "u2", "Two.", "u5"]


def erase() -> Json:
    """Erase all."""
    return {"erased": True}


def asking(model: Scripted) -> Any:
    return agent(model, tools=[FunctionTool(erase, require_confirmation=True)])


async def test_regenerated_while_an_approval_waits() -> None:
    """The question of the earlier version is shown, cannot be answered, and expires when it is restored."""
    model = Scripted.saying(call("erase", "c1"), "Never mind.", "Nothing was erased.")
    async with staging(asking(model)) as stage:
        waiting = await send(stage, user("u1"))
        asked_for = (await stage.messages())[-1]
        await again(stage, waiting)
        part = next(p for p in asked_for["parts"] if p["type"] == "tool-erase")
        answered = {
            **part,
            "state": "approval-responded",
            "approval": {**part["approval"], "approved": True},
        }
        late = await post(stage, user("u1"), {**asked_for, "parts": [answered]})
        assert late.status_code == 409
        path = f"/api/chat/{APP}/{SESSION}/messages?version={waiting}&dialect=7"
        (old,) = [p for p in (await stage.client.get(path)).json()[-1]["parts"] if "approval" in p]
        assert old["state"] != "approval-requested", "nobody is asked any more"
        await send(stage, assistant(waiting), user("u2"))
        assert (await shown(stage))[-2:] == ["u2", "Nothing was erased."]
        again_late = await post(stage, user("u1"), {**asked_for, "parts": [answered]})
        assert again_late.status_code == 409
        parts = [part for content in model.requests[-1] for part in content.parts or ()]
        results = [part.function_response.response for part in parts if part.function_response]
        assert {"erased": True} not in results


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
async def test_a_failed_version(stored: bool) -> None:
    """It is a version like others; what ADK kept of it is there again."""
    model = Scripted.saying("One.", RuntimeError("boom"), "Two.", "Three.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        failed = await send(stage, assistant(one), user("u2"))
        if not stored:  # As if it had failed before ADK stored its message.
            await _forget(stage, failed)
        await send(stage, assistant(one), user("u3"))
        assert asked(model) == ["u1", "One.", "u3"]
        await send(stage, assistant(failed), user("u4"))
        assert asked(model) == ["u1", "One.", *(["u2"] if stored else []), "u4"]
        assert [t for t in await shown(stage) if t] == ["u1", "One.", "u2", "u4", "Three."]


async def _forget(stage: Stage, run: str) -> None:
    invocation = (await stage.client.get(f"/api/runs/{run}")).json()["invocation"]
    session = stage.runner.session_service.sessions[APP][USER][SESSION]  # type: ignore[attr-defined]
    session.events[:] = [e for e in session.events if e.invocation_id != invocation]


async def test_an_interrupted_restoration_is_no_version() -> None:
    """A process that died while it copied leaves nothing that is taken for the conversation."""
    model = Scripted.saying(call("count", "c1"), "One.", "Two.", "Three.", "Four.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        await again(stage, one)
        sessions = Sessions(stage.runner.session_service)
        before = (await sessions.get(HERE)).events
        names = [(await stage.client.get(f"/api/runs/{one}")).json()["invocation"]]
        version = find_version(before, names, names, "")
        await bring_back(stage.runner, HERE, version)
        stored = stage.runner.session_service.sessions[APP][USER][SESSION]  # type: ignore[attr-defined]
        del stored.events[-2:]  # The last answer and the end of the copies.
        await send(stage, assistant(one), user("u3"))
        assert asked(model) == ["u1", "One.", "u3"]
        assert await count(stage) == 1


async def test_a_version_that_the_session_lost_is_refused() -> None:
    """409, and the conversation is as it was."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        await again(stage, one)
        await _forget(stage, one)
        refused = await post(stage, assistant(one), user("u2"))
        assert refused.status_code == 409
        assert "fork" in refused.text
        await send(stage, user("u3"))
        assert asked(model) == ["u1", "Two.", "u3"]


async def test_a_tab_that_shows_an_earlier_version_names_it_or_is_refused() -> None:
    """Another tab has regenerated the answer: without a name, nothing is restored in its place."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        await again(stage, one)
        refused = await post_list(stage, user("u1"), assistant(one), user("u2"))
        assert refused.status_code == 409
        assert is_stale(refused)
        assert await shown(stage) == ["u1", "Two."]
        await send(stage, user("u1"), assistant(one), user("u2"))
        assert await shown(stage) == ["u1", "One.", "u2", "Three."]


async def test_two_tabs() -> None:
    """Each sends from what it shows, at once: the second restores its own, and nothing is lost."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with staging(agent(model), chat_busy="wait") as stage:
        one = await send(stage, user("u1"))
        two = await again(stage, one)
        both: Sequence[httpx.Response] = await asyncio.gather(
            post(stage, user("u1"), assistant(one), user("left")),
            post(stage, user("u1"), assistant(two), user("right")),
        )
        assert [answer.status_code for answer in both] == [200, 200]
        ends = [await shown(stage, answer.headers["x-prism-run"]) for answer in both]
        assert [end[:3] for end in ends] == [["u1", "One.", "left"], ["u1", "Two.", "right"]]
        assert await shown(stage) in ends


async def test_shared_state_is_not_written_again() -> None:
    """What a version once told every session of the user stays as it is today."""
    model = Scripted.saying(call("share", "c1", text="old"), "One.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        model.then(call("share", "c2", text="new"), "Two.", "Three.")
        await again(stage, one)
        await send(stage, assistant(one), user("u2"))
        state = (await stage.session())["state"]
        assert (state["told"], state["user:told"]) == ("old", "new")


async def test_a_fork_after_a_restored_version() -> None:
    """It has the conversation once."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with staging(agent(model)) as stage:
        one = await send(stage, user("u1"))
        await again(stage, one)
        last = await send(stage, assistant(one), user("u2"))
        end = len(await stage.entries(last))
        message = types.UserContent("u3").model_dump(exclude_none=True)
        forked = await stage.fork(last, end, newMessage=message)
        await stage.entries(forked["run"])
        assert asked(model) == ["u1", "One.", "u2", "Three.", "u3"]
        said = [texts(m) for m in await stage.messages(forked["session"])]
        assert said == ["u1", "One.", "u2", "Three.", "u3", "Four."]


async def test_the_agent_of_the_version_goes_on() -> None:
    """A version that was transferred to another agent is answered by that one."""
    model = Scripted.saying(call("transfer_to_agent", "t1", agent_name="other"), "Other here.")
    other = LlmAgent(name="other", model=model, description="Another.")
    async with staging(agent(model, sub_agents=[other])) as stage:
        one = await send(stage, user("u1"))
        await again(stage, one)
        last = await send(stage, assistant(one), user("u2"))
        assert (await stage.events(last))[-1]["author"] == "other"


def consult() -> None:
    """Ask somebody outside, who answers later."""


async def test_a_late_result_in_a_restored_version() -> None:
    """It goes on in that version, and the model gets the call once."""
    model = Scripted.saying(call("consult", "c1"), "Two.", "Three.", "Four.")
    async with staging(agent(model, tools=[LongRunningFunctionTool(consult)])) as stage:
        one = await send(stage, user("u1"))
        asked_for = (await stage.messages())[-1]
        await again(stage, one)
        await send(stage, assistant(one), user("u2"))
        (part,) = [p for p in asked_for["parts"] if p["type"] == "tool-consult"]
        given = {**part, "state": "output-available", "output": {"said": "yes"}}
        await send(stage, {**asked_for, "parts": [given]}, messageId=one)
        parts = [part for content in model.requests[-1] for part in content.parts or ()]
        calls = [part.function_call.id for part in parts if part.function_call]
        results = [part.function_response.response for part in parts if part.function_response]
        assert (calls, results) == (["c1"], [{"said": "yes"}])
        assert [texts(m) for m in await stage.messages()] == ["u1", "Four.", "u2", "Three."]
