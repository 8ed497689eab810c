"""Conversations that this server did not record: ADK's session is shown, and can be gone on with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.local_server import (
    APP,
    SESSION,
    USER,
    Json,
    LocalServer,
    agent,
    local_server,
    texts,
)

from adk_prism.features.session_runs.session_log import SessionRunId
from adk_prism.log.contract import Retention

Service = Callable[[Any], BaseSessionService]
SERVICES: dict[str, Service] = {
    "memory": lambda folder: InMemorySessionService(),
    "sqlite": lambda folder: SqliteSessionService(str(folder / "sessions.db")),
}


@pytest.fixture(params=SERVICES.values(), ids=SERVICES.keys())
def service(request: pytest.FixtureRequest, tmp_path: Any) -> BaseSessionService:
    """A session service that another server uses as well."""
    made: BaseSessionService = request.param(tmp_path)
    return made


async def elsewhere(service: BaseSessionService, root: LlmAgent, *said: str) -> None:
    """Hold a conversation with ADK's own Runner, as `adk api_server` does."""
    runner = Runner(app=App(name=APP, root_agent=root), session_service=service)
    if await service.get_session(app_name=APP, user_id=USER, session_id=SESSION) is None:
        await service.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    for text in said:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events = runner.run_async(user_id=USER, session_id=SESSION, new_message=message)
        async for _ in events:
            pass


async def post(server: LocalServer, message: Json, **more: Any) -> Any:
    """Post a message to the chat."""
    body = {"id": SESSION, "messages": [message], **more}
    return await server.client.post(f"/api/chat/{APP}", json=body)


def user(text: str) -> Json:
    return {"id": f"m-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}


def said(messages: list[Json]) -> list[tuple[str, str]]:
    return [(message["role"], texts(message)) for message in messages]


async def test_a_session_of_another_server_is_shown(service: BaseSessionService) -> None:
    """In the list of conversations, as messages, and as runs that every view can read."""
    root = agent(Scripted.saying(call("count", "c1"), "One.", "Two."))
    await elsewhere(service, root, "count", "again")
    async with local_server(agent(Scripted.saying()), service=service) as server:
        messages = await server.messages()
        assert said(messages) == [
            ("user", "count"),
            ("assistant", "One."),
            ("user", "again"),
            ("assistant", "Two."),
        ]
        assert messages[1]["metadata"]["derived"] is True
        calls = [part for part in messages[1]["parts"] if "toolCallId" in part]
        assert [(part["type"], part["state"]) for part in calls] == [
            ("tool-count", "output-available")
        ]
        (listed,) = (await server.client.get("/api/conversations")).json()
        assert (listed["session"], listed["title"], listed["recorded"]) == (SESSION, "count", False)
        run = messages[1]["metadata"]["runId"]
        for path in ("", "/film", "/view", "/recording", "/stream?as=ai-sdk", "/stream?as=studio"):
            answer = await server.client.get(f"/api/runs/{run}{path}")
            assert answer.status_code == 200, (path, answer.text)


async def test_without_the_feature_the_log_alone_is_shown(service: BaseSessionService) -> None:
    """The other server's turns are left out; the model still has them."""
    await elsewhere(service, agent(Scripted.saying("A.")), "a")
    served = agent(Scripted.saying("B."))
    async with local_server(served, service=service, without=("session_runs",)) as server:
        assert (await post(server, user("b"))).status_code == 200
        assert said(await server.messages()) == [("user", "b"), ("assistant", "B.")]
        run = SessionRunId(APP, USER, SESSION, "i1", 1).encode()
        assert (await server.client.get(f"/api/runs/{run}")).status_code == 404
    session = await service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    assert session is not None
    assert len(session.events) == 4


async def test_both_parts_of_a_mixed_conversation_are_in_order(
    service: BaseSessionService,
) -> None:
    """Another server's turns stand between this one's; none is shown twice."""
    await elsewhere(service, agent(Scripted.saying("A.")), "a")
    async with local_server(agent(Scripted.saying("B.", "D.")), service=service) as server:
        assert (await post(server, user("b"))).status_code == 200
        await elsewhere(service, agent(Scripted.saying("C.")), "c")
        assert (await post(server, user("d"))).status_code == 200
        messages = await server.messages()
        assert [text for _, text in said(messages)] == ["a", "A.", "b", "B.", "c", "C.", "d", "D."]
        assert ["derived" in m.get("metadata", {}) for m in messages[1::2]] == [
            True,
            False,
            True,
            False,
        ]
        (listed,) = (await server.client.get("/api/conversations")).json()
        assert listed["recorded"] is True


async def test_what_retention_removed_is_read_from_the_session(service: BaseSessionService) -> None:
    """The conversation stays; what only the log knew is gone."""
    async with local_server(agent(Scripted.saying("A.", "B.")), service=service) as server:
        await post(server, user("a"))
        await post(server, user("b"))
        before = said(await server.messages())
        await server.context.log.trim(Retention(max_age=0), now=1e12)
        messages = await server.messages()
        assert said(messages) == before
        assert all(m["metadata"]["derived"] for m in messages[1::2])
        (listed,) = (await server.client.get("/api/conversations")).json()
        assert (listed["title"], listed["recorded"]) == ("a", False)


def pay(amount: int) -> Json:
    """Pay something."""
    return {"paid": amount}


def payer(model: Scripted) -> LlmAgent:
    return LlmAgent(name="agent", model=model, tools=[FunctionTool(pay, require_confirmation=True)])


@dataclass(frozen=True)
class Decision:
    """What a person decides, and what then stands in the message."""

    approved: bool
    state: str
    says: str


DECISIONS = [Decision(True, "output-available", "Paid."), Decision(False, "output-denied", "Paid.")]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda each: each.state)
async def test_an_approval_that_another_server_asked_is_answered_here(
    service: BaseSessionService, decision: Decision
) -> None:
    """The call is shown as waiting; the answer continues the same message, once."""
    await elsewhere(service, payer(Scripted.saying(call("pay", "c1", amount=3))), "pay")
    async with local_server(payer(Scripted.saying("Paid.")), service=service) as server:
        _, asked = await server.messages()
        (waiting,) = [part for part in asked["parts"] if "toolCallId" in part]
        assert waiting["state"] == "approval-requested"
        approval = waiting["approval"] | {"approved": decision.approved}
        answered = waiting | {"state": "approval-responded", "approval": approval}
        answer = {**asked, "parts": [answered]}
        assert (await post(server, answer)).status_code == 200
        messages = await server.messages()
        assert [message["role"] for message in messages] == ["user", "assistant"]
        assert messages[1]["id"] == asked["id"]
        assert texts(messages[1]) == decision.says
        assert (await post(server, answer)).status_code == 409


async def test_a_turn_of_another_server_is_taken_back(service: BaseSessionService) -> None:
    """Regenerating its answer rewinds the session, as with a turn of this server."""
    await elsewhere(service, agent(Scripted.saying("A.", "B.")), "a", "b")
    async with local_server(agent(Scripted.saying("C.")), service=service) as server:
        messages = await server.messages()
        body = {"trigger": "regenerate-message", "messageId": messages[1]["id"]}
        assert (await post(server, messages[0], **body)).status_code == 200
        assert [text for _, text in said(await server.messages())] == ["a", "C."]


async def test_turns_of_both_are_taken_back_together(service: BaseSessionService) -> None:
    """What was said here after another server's turn goes with it, and the state is as it was before."""
    await elsewhere(service, agent(Scripted.saying(call("count", "c1"), "A.")), "a")
    await elsewhere(service, agent(Scripted.saying("B.")), "b")
    async with local_server(agent(Scripted.saying("C.", "D.")), service=service) as server:
        await post(server, user("c"))
        theirs = (await server.messages())[3]["id"]
        body = {"trigger": "regenerate-message", "messageId": theirs}
        assert (await post(server, user("b"), **body)).status_code == 200
        assert [text for _, text in said(await server.messages())] == ["a", "A.", "b", "D."]
        assert (await server.session())["state"] == {"count": 1}


NO_RUNS = {
    "of no session": SessionRunId(APP, USER, "nowhere", "e-1", 1).encode(),
    "of no app": SessionRunId("other", USER, SESSION, "e-1", 1).encode(),
    "of no invocation": SessionRunId(APP, USER, SESSION, "e-1", 1).encode(),
    "longer than it is": SessionRunId(APP, USER, SESSION, "", 99).encode(),
    "of no form": "session-AAAA",
    "of nothing": "session-",
}


@pytest.mark.parametrize("run", NO_RUNS.values(), ids=NO_RUNS.keys())
async def test_a_made_up_run_is_not_found(service: BaseSessionService, run: str) -> None:
    """An id says where a run would be; it must be there."""
    await elsewhere(service, agent(Scripted.saying("A.")), "a")
    async with local_server(agent(Scripted.saying()), service=service) as server:
        assert (await server.client.get(f"/api/runs/{run}")).status_code == 404
        assert (await server.client.get(f"/api/runs/{run}/stream?as=adk")).status_code == 404


@asynccontextmanager
async def known_callers(service: BaseSessionService) -> AsyncIterator[LocalServer]:
    async def authenticate(request: Any) -> str:
        return str(request.headers.get("x-user", ""))

    async with local_server(
        agent(Scripted.saying()), service=service, authenticate=authenticate
    ) as server:
        yield server


async def test_another_users_session_is_not_shown(service: BaseSessionService) -> None:
    """A run's id can be made up by anyone, so whose it is counts as for every run."""
    await elsewhere(service, agent(Scripted.saying("A.")), "a")
    stored = await service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    assert stored is not None
    invocation = stored.events[0].invocation_id
    run = SessionRunId(APP, USER, SESSION, invocation, len(stored.events)).encode()
    async with known_callers(service) as server:
        mine, other = {"x-user": USER}, {"x-user": "mallory"}
        assert (await server.client.get(f"/api/runs/{run}", headers=mine)).status_code == 200
        assert (await server.client.get(f"/api/runs/{run}", headers=other)).status_code == 404
        assert len((await server.client.get("/api/conversations", headers=mine)).json()) == 1
        assert (await server.client.get("/api/conversations", headers=other)).json() == []
