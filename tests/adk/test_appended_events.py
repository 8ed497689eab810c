"""Events that agent code appends through the session service: in the log, once, in their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import ToolContext
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.log.entry import AgentEvent

Json = dict[str, Any]


async def append(context: CallbackContext | ToolContext, text: str, author: str = "system") -> None:
    """Append an event as agent code does."""
    run = context.get_invocation_context()
    event = Event(
        author=author,
        invocation_id=run.invocation_id,
        content=types.Content(role="model", parts=[types.Part(text=text)]),
        actions=EventActions(state_delta={"said": text}),
    )
    await run.session_service.append_event(run.session, event)


async def whisper(tool_context: ToolContext) -> Json:
    """Say something beside the answer."""
    await append(tool_context, "Whispered.")
    return {"whispered": True}


async def fail(tool_context: ToolContext) -> Json:
    """Say something, and raise."""
    await append(tool_context, "Whispered.")
    raise ValueError("no more")


async def at_the_end(callback_context: CallbackContext) -> None:
    await append(callback_context, "Added.", author="user")


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> BaseSessionService:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


def texts(events: list[Json]) -> list[str]:
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    return [part.get("text") or next(iter(part)) for part in parts]


async def logged(server: LocalServer, run: str) -> list[Json]:
    """Return the events of a run as the log has them."""
    records = [entry.record for entry in await server.entries(run)]
    events = [json.loads(each.event) for each in records if isinstance(each, AgentEvent)]
    return [event for event in events if not event.get("partial")]


@pytest.mark.parametrize("resumable", [False, True])
async def test_it_is_in_the_log(service: BaseSessionService, resumable: bool) -> None:
    """Before the event that the Runner yields next; and what the session has, the log has."""
    model = Scripted.saying(call("whisper", "c1"), "Done.", "Well.")
    root = agent(model, tools=[whisper], after_agent_callback=at_the_end)
    async with local_server(root, service=service, resumable=resumable) as server:
        run = await server.say("go")
        recorded = await logged(server, run)
        expected = ["functionCall", "Whispered.", "functionResponse", "Done.", "Added."]
        assert texts(recorded) == expected
        ids = {event["id"] for event in recorded}
        stored = [e for e in (await server.session())["events"] if e["id"] in ids]
        assert {event["id"] for event in stored} == ids
        [_, answer] = await server.messages()
        said = [part["text"] for part in answer["parts"] if part["type"] == "text"]
        assert "Whispered." in said
        assert (await server.session())["state"]["said"] == "Added."
        shown = await server.client.get(f"/api/runs/{run}/stream", params={"as": "adk"})
        assert "Done." in shown.text
        assert "Whispered." not in shown.text, "ADK's own server does not stream it"
        again = await logged(server, await server.say("and?"))
        assert texts(again) == ["Well.", "Added."], "nothing of before comes twice"


async def test_a_run_that_fails_has_it_too(service: BaseSessionService) -> None:
    model = Scripted.saying(call("fail", "c1"))
    async with local_server(agent(model, tools=[fail]), service=service) as server:
        run = await server.say("go")
        assert texts(await logged(server, run))[:2] == ["functionCall", "Whispered."]


async def test_agents_that_append_nothing_are_recorded_as_they_were() -> None:
    """A transfer, a child that answers once, and state: each event once."""
    child = LlmAgent(
        name="child", model=Scripted.saying("Inside."), mode="single_turn", description="A child."
    )
    model = Scripted.saying(call("count", "c1"), call("child", "s1", request="go"), "Done.")
    async with local_server(agent(model, sub_agents=[child])) as server:
        events = await server.events(await server.say("go"))
        ids = [event["id"] for event in events]
        assert len(ids) == len(set(ids))
        stored = [e["id"] for e in (await server.session())["events"] if e["author"] != "user"]
        assert sorted(ids) == sorted(stored)
