"""Events without an invocation, as agents yield them that do not name it, belong to the run they are of."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from tests.server.ag_ui.thread import Thread
from tests.server.local_server import APP, SESSION, USER, LocalServer, local_server, texts
from tests.server.test_lineage import post, user

from adk_prism.log.entry import RunId

Json = dict[str, Any]


class Terse(BaseAgent):
    """Yields events that say who speaks, and nothing else."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        said = (ctx.user_content.parts or [types.Part(text="")])[0].text if ctx.user_content else ""
        for text in (f"Heard {said}.", "Done."):
            yield Event(author=self.name, content=types.ModelContent(text))


async def talked(server: LocalServer) -> list[str]:
    """Say two things; return the runs."""
    runs = []
    for name in ("one", "two"):
        answer = await post(server, user(name))
        assert answer.status_code == 200
        runs.append(answer.headers["x-prism-run"])
    return runs


async def test_messages_have_each_event_once() -> None:
    """In the chat, in an AG-UI thread, and in the session."""
    async with local_server(Terse(name="terse")) as server:
        await talked(server)
        said = [texts(message) for message in await server.messages()]
        assert said == ["one", "Heard one. Done.", "two", "Heard two. Done."]
        thread = await Thread(server).history()
        assert [m["content"] for m in thread if m["role"] == "user"] == ["one", "two"]
        spoken = [m["content"] for m in thread if m["role"] == "assistant"]
        assert spoken == ["Heard one.", "Done.", "Heard two.", "Done."]
        assert all(event["invocationId"] for event in (await server.session())["events"])


async def test_a_fork_has_each_event_once() -> None:
    async with local_server(Terse(name="terse")) as server:
        *_, last = await talked(server)
        message = types.UserContent("three").model_dump(exclude_none=True)
        forked = await server.fork(last, len(await server.entries(last)), newMessage=message)
        await server.entries(forked["run"])
        said = [texts(m) for m in await server.messages(forked["session"])]
        assert said[:4] == ["one", "Heard one. Done.", "two", "Heard two. Done."]
        assert said[4:] == ["three", "Heard three. Done."]


@pytest.mark.parametrize(
    "known", [False, True], ids=["of another server", "beside runs of this one"]
)
async def test_events_that_were_stored_so_before(known: bool) -> None:
    """They belong to the invocation before them."""
    service = InMemorySessionService()
    session = await service.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    for name in ("one", "two"):
        asked = Event(invocation_id=f"e-{name}", author="user", content=types.UserContent(name))
        said = Event(author="terse", content=types.ModelContent(f"Heard {name}."))
        for event in (asked, said):
            await service.append_event(session, event)
    async with local_server(Terse(name="terse"), service=service) as server:
        if known:
            await post(server, user("three"))
        said_there = [texts(message) for message in await server.messages()]
        assert said_there[:4] == ["one", "Heard one.", "two", "Heard two."]
        assert said_there[4:] == (["three", "Heard three. Done."] if known else [])


class Odd(BaseAgent):
    """Yields something that is no event."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Any, None]:
        del ctx
        yield {"not": "an event"}


async def test_an_agent_that_yields_no_event_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """The error is the agent's, not our plugin's."""
    async with local_server(Odd(name="odd")) as server:
        run = (await post(server, user("one"))).headers["x-prism-run"]
        assert (await server.context.log.summary(RunId(run))).outcome == "failed"
        (report,) = [each for each in server.reports if each.kind == "run failed"]
        assert report.detail == "not-an-event"
        assert "The agent 'odd' yielded an object of type 'dict'" in (report.cause or "")
        assert "Error in plugin" not in caplog.text
