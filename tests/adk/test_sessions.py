"""Sessions: made empty, changed by events, rewound whole, on every service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow
from tests.adk.runs import ORIGIN, history, new_runner, run, say, state, text_of
from tests.adk.scripted import Scripted, call

from adk_prism.adk.redaction import state_json
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import Conflict, NotFound
from adk_prism.features.long_sessions.session_cache import SessionCache
from adk_prism.log.entry import Origin, RunStarted

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")

MISSING = Origin(app="app", user="u", session="missing")


async def test_initial_state_is_an_event_of_the_user(service: BaseSessionService) -> None:
    """So that a rewind to the first message finds it."""
    sessions = Sessions(service)
    session = await sessions.create(ORIGIN, {"colour": "red"})
    assert session.state == {"colour": "red"}
    stored = await sessions.get(ORIGIN)
    (event,) = stored.events
    assert (event.author, event.content, event.actions.state_delta) == (
        "user",
        None,
        {"colour": "red"},
    )
    assert event.invocation_id.startswith("p-")


async def test_a_session_without_state_is_empty(service: BaseSessionService) -> None:
    """No event is made up."""
    sessions = Sessions(service)
    await sessions.create(ORIGIN)
    assert (await sessions.get(ORIGIN)).events == []


async def test_ensure_makes_once(service: BaseSessionService) -> None:
    """The second time the state is not applied."""
    sessions = Sessions(service)
    assert await sessions.ensure(ORIGIN, {"n": 1})
    assert not await sessions.ensure(ORIGIN, {"n": 2})
    assert await sessions.state(ORIGIN) == {"n": 1}


async def test_create_draws_an_id_and_refuses_a_taken_one(service: BaseSessionService) -> None:
    """An empty id is drawn; a second session of one id is a conflict."""
    sessions = Sessions(service)
    drawn = await sessions.create(Origin(app="app", user="u", session=""))
    assert drawn.id
    with pytest.raises(Conflict, match="already exists"):
        await sessions.create(Origin(app="app", user="u", session=drawn.id))


@pytest.mark.parametrize("ask", ["get", "state", "append_state", "rewind"])
async def test_a_session_that_is_not_there(service: BaseSessionService, ask: str) -> None:
    """It is not found; asking whether it exists and deleting it are fine."""
    runner = await new_runner(LlmAgent(name="root", model=Scripted()), service)
    sessions = Sessions(service)
    asked: dict[str, Callable[[], Any]] = {
        "get": lambda: sessions.get(MISSING),
        "state": lambda: sessions.state(MISSING),
        "append_state": lambda: sessions.append_state(MISSING, {"a": 1}),
        "rewind": lambda: sessions.rewind(runner, MISSING, "e-1"),
    }
    with pytest.raises(NotFound, match="missing"):
        await asked[ask]()
    assert not await sessions.exists(MISSING)
    await sessions.delete(MISSING)


async def test_append_state_list_and_delete(service: BaseSessionService) -> None:
    """A change is one event; lists have no events; a deleted session is gone."""
    sessions = Sessions(service)
    await sessions.create(ORIGIN, {"n": 1})
    event = await sessions.append_state(ORIGIN, {"n": 2, "user:name": "Ann"})
    assert event.actions.state_delta == {"n": 2, "user:name": "Ann"}
    assert await sessions.state(ORIGIN) == {"n": 2, "user:name": "Ann"}
    assert [(s.id, s.events) for s in await sessions.list("app", "u")] == [("s", [])]
    await sessions.delete(ORIGIN)
    assert not await sessions.exists(ORIGIN)


async def test_state_that_no_database_could_hold_is_repaired(service: BaseSessionService) -> None:
    """NUL, lone surrogates and NaN are the same on every service."""
    sessions = Sessions(service)
    await sessions.create(ORIGIN)
    await sessions.append_state(ORIGIN, {"a": "x\0y", "b": ["\ud800"], "c": float("nan")})
    assert await sessions.state(ORIGIN) == {"a": "x\ufffdy", "b": ["\ufffd"], "c": None}


# ------------------------------------------------------------------------------- rewind


def _counting(*turns: Any) -> LlmAgent:
    """An agent with a tool that counts in the way that a None would break."""

    def count(tool_context: ToolContext) -> int:
        tool_context.state["count"] = tool_context.state.get("count", 0) + 1
        tool_context.state["colour"] = "blue"
        tool_context.state["user:seen"] = True
        return int(tool_context.state["count"])

    return LlmAgent(name="root", model=Scripted.saying(*turns), tools=[count])


async def _rewind(runner: Runner, started: RunStarted, *, recorded: bool = True) -> None:
    await Sessions(runner.session_service).rewind(
        runner, ORIGIN, started.invocation, started.state if recorded else None
    )


@dataclass(frozen=True)
class Case:
    id: str
    created_by_others: bool
    recorded: bool
    after: dict[str, Any]


CASES = [
    Case("ours", False, True, {"colour": "red", "kept": [1]}),
    Case("ours, state unknown", False, False, {"colour": "red", "kept": [1]}),
    Case("others'", True, True, {"colour": "red", "kept": [1]}),
    # The colour was only ever an argument of create_session; nothing remembers it.
    Case("others', state unknown", True, False, {"kept": [1]}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_after_a_rewind_the_state_is_as_before(
    service: BaseSessionService, case: Case
) -> None:
    """Changed keys are restored, added ones are gone, initial ones survive; shared ones stay."""
    initial = {"colour": "red", "kept": [1]}
    runner = await new_runner(
        _counting(call("count", "c1"), "one", call("count", "c2"), "again"),
        service,
        state=None if case.created_by_others else initial,
    )
    if case.created_by_others:
        await service.delete_session(app_name="app", user_id="u", session_id="s")
        await service.create_session(app_name="app", user_id="u", session_id="s", state=initial)
    started, _ = await run(runner, message=say("count"))
    assert (await state(runner))["count"] == 1
    await _rewind(runner, started, recorded=case.recorded)
    assert await state(runner) == {**case.after, "user:seen": True}
    _, events = await run(runner, message=say("count"))
    assert (await state(runner))["count"] == 1
    assert text_of(events) == "again"


async def test_the_model_does_not_see_what_was_taken_back(service: BaseSessionService) -> None:
    """And neither does it see the events that repair the state."""
    model = Scripted.saying("one", "two", "three")
    runner = await new_runner(LlmAgent(name="root", model=model), service, state={"a": 1})
    await run(runner, message=say("first"))
    started, _ = await run(runner, message=say("second"))
    await _rewind(runner, started)
    await run(runner, message=say("instead"))
    assert [p.text for c in model.requests[-1] for p in c.parts or []] == [
        "first",
        "one",
        "instead",
    ]


async def test_rewinds_one_after_the_other(service: BaseSessionService) -> None:
    """Each goes back to its own beginning, the first message included."""
    turns = [turn for n in range(6) for turn in (call("count", f"c{n}"), f"answer {n}")]
    runner = await new_runner(_counting(*turns), service, state={"colour": "red"})
    first, _ = await run(runner, message=say("one"))
    second, _ = await run(runner, message=say("two"))
    await _rewind(runner, second)
    assert (await state(runner))["count"] == 1
    again, _ = await run(runner, message=say("two, again"))
    assert (await state(runner))["count"] == 2
    await _rewind(runner, again)
    await _rewind(runner, first)
    assert await state(runner) == {"colour": "red", "user:seen": True}
    await run(runner, message=say("one, again"))
    assert (await state(runner))["count"] == 1


async def test_an_invocation_that_is_not_there_any_more(service: BaseSessionService) -> None:
    """Unknown or taken back already: nothing is written."""
    runner = await new_runner(LlmAgent(name="root", model=Scripted.saying("one")), service)
    started, _ = await run(runner, message=say("hi"))
    with pytest.raises(Conflict, match="nothing to rewind"):
        await Sessions(service).rewind(runner, ORIGIN, "e-unknown")
    await _rewind(runner, started)
    length = len(await history(runner))
    with pytest.raises(Conflict, match="nothing to rewind"):
        await _rewind(runner, started)
    assert len(await history(runner)) == length


async def test_an_invocation_of_several_messages_is_refused(service: BaseSessionService) -> None:
    """A workflow's task agent asks back under one invocation; ADK would drop both messages."""
    child = Scripted.saying("Which?", call("finish_task", "f1", result="red"))
    picker = LlmAgent(name="picker", model=child, mode="task", description="d")
    runner = await new_runner(Workflow(name="flow", edges=[("START", picker)]), service)
    await run(runner, message=say("hi"))
    replied, _ = await run(runner, message=say("red"))
    with pytest.raises(Conflict, match="several messages"):
        await _rewind(runner, replied)


async def test_a_reply_to_a_delegated_task_can_be_taken_back_alone(
    service: BaseSessionService,
) -> None:
    """Its turn has its own invocation; the task then waits again."""
    child = Scripted.saying("Which?", "Sure?", call("finish_task", "f1", result="red"))
    picker = LlmAgent(name="picker", model=child, mode="task", description="d")
    parent = Scripted.saying(call("picker", "c1", request="pick"), "You picked red")
    runner = await new_runner(LlmAgent(name="root", model=parent, sub_agents=[picker]), service)
    await run(runner, message=say("hi"))
    replied, _ = await run(runner, message=say("blue"))
    await _rewind(runner, replied)
    _, events = await run(runner, message=say("red"))
    assert text_of(events).endswith("You picked red")
    assert "blue" not in str(child.requests[-1])


async def test_a_credential_in_the_state_survives_a_rewind(service: BaseSessionService) -> None:
    """The recorded state is redacted and must not overwrite the real one."""
    credential = {"authType": "apiKey", "apiKey": "hunter2"}
    runner = await new_runner(LlmAgent(name="root", model=Scripted.saying("one")), service)
    await service.delete_session(app_name="app", user_id="u", session_id="s")
    await service.create_session(
        app_name="app", user_id="u", session_id="s", state={"key": credential}
    )
    started, _ = await run(runner, message=say("hi"))
    assert b"hunter2" not in bytes(started.state["key"])
    await _rewind(runner, started)
    assert await state(runner) == {"key": credential}


class Elsewhere(BaseSessionService):
    """A service whose storage nobody here knows."""

    def __init__(self) -> None:
        self._inner = InMemorySessionService()

    async def create_session(self, **which: Any) -> Session:
        return await self._inner.create_session(**which)

    async def get_session(self, **which: Any) -> Session | None:
        return await self._inner.get_session(**which)

    async def list_sessions(self, **which: Any) -> ListSessionsResponse:
        return await self._inner.list_sessions(**which)

    async def delete_session(self, **which: Any) -> None:
        await self._inner.delete_session(**which)

    async def append_event(self, session: Session, event: Event) -> Event:
        return await self._inner.append_event(session, event)


async def test_on_an_unknown_service_an_added_key_stays_as_none() -> None:
    """It is the best that ADK's own interface can do; the rest of the state is as before."""
    runner = await new_runner(_counting(call("count", "c1"), "one"), Elsewhere(), state={"a": 1})
    started, _ = await run(runner, message=say("count"))
    await _rewind(runner, started)
    assert await state(runner) == {"a": 1, "count": None, "colour": None, "user:seen": True}


def test_the_recorded_state_has_no_temporary_keys() -> None:
    """`temp:` lives inside one run and is nobody else's business."""
    assert set(state_json({"a": 1, "temp:b": 2, "app:c": 3})) == {"a", "app:c"}


async def test_a_long_list_of_sessions_leaves_the_event_loop_free() -> None:
    """Others get their turns while ADK makes an object for each session, and may change sessions."""
    service = SessionCache(InMemorySessionService())
    sessions = Sessions(service)
    for number in range(2000):
        await service.create_session(
            app_name="app", user_id="user", session_id=f"s{number}", state={"key": number}
        )
    listing = asyncio.create_task(sessions.list("app", ""))
    turns = 0
    while not listing.done():
        turns += 1
        origin = Origin(app="app", user="user", session=f"s{turns % 2000}")
        await sessions.append_state(origin, {f"key{turns}": turns})
        await asyncio.sleep(0)
    assert len(listing.result()) == 2000
    assert turns > 5, "the loop stood still"
