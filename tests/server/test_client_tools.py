"""Tools that a chat request brings: for every agent of an app that says so, else ignored with a warning."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, SESSION, SETTINGS, LocalServer, agent, count, texts

from adk_prism import accept_client_tools
from adk_prism.adk.client_tools import LARGEST_ALL, LARGEST_TOOL, MOST_TOOLS, read_tools
from adk_prism.errors import Unprocessable
from adk_prism.log.entry import RunStarted
from adk_prism.prism import Prism

Json = dict[str, Any]
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: Json = {"show_weather": {"description": "Show a card.", "parameters": SCHEMA}}


class Noting(Scripted):
    """Notes which functions its requests declare."""

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        tools = llm_request.config.tools or []
        named = [d for tool in tools for d in getattr(tool, "function_declarations", None) or ()]
        DECLARED.append({d.name: d.parameters_json_schema for d in named})
        async for response in super().generate_content_async(llm_request, stream):
            yield response


DECLARED: list[Json] = []


@asynccontextmanager
async def serving(root: LlmAgent, *, allowed: bool = True) -> AsyncIterator[LocalServer]:
    DECLARED.clear()
    app = App(
        name=APP, root_agent=root, plugins=[accept_client_tools("request")] if allowed else []
    )
    runner = Runner(
        app=app,
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    prism = Prism({APP: runner}, SETTINGS)
    transport = httpx.ASGITransport(prism.asgi())
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client,
    ):
        yield LocalServer(client, prism.context, runner)


def body(*messages: Json, **more: Any) -> Json:
    """What assistant-ui's AssistantChatTransport posts."""
    return {
        "callSettings": {},
        "config": {},
        "id": SESSION,
        "messages": list(messages),
        "trigger": "submit-message",
        **more,
    }


def user(text: str, **more: Any) -> Json:
    return {"id": text, "role": "user", "parts": [{"type": "text", "text": text}], **more}


async def post(server: LocalServer, *messages: Json, **more: Any) -> httpx.Response:
    return await server.client.post(f"/api/chat/{APP}", json=body(*messages, **more))


def chunks(answer: httpx.Response) -> list[Json]:
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def warnings(answer: httpx.Response) -> list[str]:
    return [c["data"]["code"] for c in chunks(answer) if c["type"] == "data-warning"]


async def test_the_model_calls_the_tool_and_the_client_answers() -> None:
    """As with a tool of the app's own, and the next request without it has it no more."""
    model = Noting.saying(call("show_weather", "c1", city="Rome"), "Shown.", "Bye.")
    async with serving(agent(model)) as server:
        asked = await post(server, user("weather"), tools=WEATHER)
        assert asked.status_code == 200, asked.text
        assert warnings(asked) == []
        assert DECLARED[0]["show_weather"] == SCHEMA
        assert "count" in DECLARED[0]
        called = (await server.messages())[-1]
        part = next(p for p in called["parts"] if p["type"] == "tool-show_weather")
        assert (part["state"], part["input"]) == ("input-available", {"city": "Rome"})

        part |= {"state": "output-available", "output": {"shown": True}}
        answered = await post(server, called, messageId=called["id"], tools=WEATHER)
        assert answered.status_code == 200, answered.text
        assert texts((await server.messages())[-1]) == "Shown."
        assert "show_weather" in DECLARED[1]

        await post(server, user("bye"))
        assert "show_weather" not in DECLARED[2]
        assert "count" in DECLARED[2]


async def test_every_agent_of_the_app_has_them() -> None:
    """A sub-agent too, with no toolset in its code; one inside a tool does not, since it has no client."""
    model, other, hidden = (Noting.saying() for _ in range(3))
    model.then(
        call("helper", "h1", request="?"), call("transfer_to_agent", "t1", agent_name="other")
    )
    hidden.then("Helped.")
    other.then("I go on.")
    helper = LlmAgent(name="helper", model=hidden, description="Helps.")
    root = LlmAgent(
        name="root",
        model=model,
        tools=[AgentTool(helper)],
        sub_agents=[LlmAgent(name="other", model=other, description="Goes on.")],
    )
    async with serving(root) as server:
        answer = await post(server, user("hello"), tools=WEATHER)
        assert answer.status_code == 200, answer.text
        assert ["show_weather" in found for found in DECLARED] == [True, False, True, True]


async def test_an_app_that_does_not_say_so_ignores_them() -> None:
    """Once per run, with a part that says so; an empty list is nothing to ignore."""
    async with serving(agent(Noting.saying("One.", "Two.")), allowed=False) as server:
        answer = await post(server, user("hello"), tools=WEATHER | {"adk_x": 1})
        assert warnings(answer) == ["tools-ignored"]
        assert "show_weather" in answer.text
        assert "show_weather" not in DECLARED[0]
        stored = (await server.messages())[-1]["parts"]
        assert [p["type"] for p in stored].count("data-warning") == 1
        assert warnings(await post(server, user("again"), tools={})) == []


class Toolset(BaseToolset):
    """Has a tool that nobody knows of before it is asked."""

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        del readonly_context
        return [FunctionTool(show_weather)]


def show_weather(city: str) -> Json:
    """Show the weather, on the server."""
    return {"server": city}


async def test_a_tool_of_a_toolset_is_not_replaced() -> None:
    """It has the name already; the client's is left out."""
    model = Noting.saying(call("show_weather", "c1", city="Rome"), "Done.")
    async with serving(agent(model, tools=[Toolset()])) as server:
        answer = await post(server, user("weather"), tools=WEATHER)
        outputs = [c["output"] for c in chunks(answer) if c["type"] == "tool-output-available"]
        assert outputs == [{"server": "Rome"}]


@dataclass(frozen=True)
class Refused:
    """Tools that are not taken, and why."""

    id: str
    tools: Any
    why: str


def many(number: int, size: int = 0) -> Json:
    return {f"tool_{n}": {"description": "x" * size} for n in range(number)}


REFUSED = [
    Refused("a tool of the app", {"count": {}}, "already used"),
    Refused("an agent of the app", {"agent": {}}, "already used"),
    Refused("a name of ADK's", {"adk_request_confirmation": {}}, "already used"),
    Refused("any name of ADK's", {"adk_anything": {}}, "already used"),
    Refused("a transfer", {"transfer_to_agent": {}}, "already used"),
    Refused("the end of a task", {"finish_task": {}}, "already used"),
    Refused("a name with a space", {"show weather": {}}, "named"),
    Refused("no name", {"": {}}, "named"),
    Refused("a long name", {"x" * 65: {}}, "named"),
    Refused("a list", [{"name": "a"}], "must be an object"),
    Refused("text", "tools", "must be an object"),
    Refused("a tool that is text", {"a": "b"}, "must be an object"),
    Refused("a description that is none", {"a": {"description": 1}}, "description"),
    Refused("parameters that are none", {"a": {"parameters": []}}, "parameters"),
    Refused("parameters of a text", {"a": {"parameters": {"type": "string"}}}, "'object'"),
    Refused("too many", many(MOST_TOOLS + 1), str(MOST_TOOLS)),
    Refused("too large", many(1, LARGEST_TOOL), str(LARGEST_TOOL)),
    Refused("too large together", many(20, LARGEST_TOOL - 100), str(LARGEST_ALL)),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_what_is_refused(case: Refused) -> None:
    """422 with the reason, and no run."""
    async with serving(agent(Noting.saying("One."))) as server:
        answer = await post(server, user("hello"), tools=case.tools)
        assert answer.status_code == 422, answer.text
        assert case.why in answer.text
        assert await server.context.log.list() == []


def test_what_is_taken() -> None:
    """A description and parameters may be missing; keys that are not known are passed over."""
    runner = Runner(
        app=App(name=APP, root_agent=agent(Scripted.saying())),
        session_service=InMemorySessionService(),
    )
    given = {"a": {}, "b.c-d": {"description": None, "parameters": None, "disabled": False}}
    assert [tool.name for tool in read_tools(runner, given)] == ["a", "b.c-d"]
    with pytest.raises(Unprocessable):
        read_tools(runner, {count.__name__: {}})
    with pytest.raises(ValueError, match="request"):
        accept_client_tools("code")  # type: ignore[arg-type]


# ------------------------------------------------------------------ what else comes along


@dataclass(frozen=True)
class Kept:
    """A message with more than words, and what its history shows of it."""

    id: str
    message: Json
    shown: Json = field(default_factory=dict)


DATA = {"type": "data-place", "id": "p", "data": {"lat": 1}}
KEPT = [
    Kept("metadata", user("u", metadata={"custom": {"a": [1]}, "createdAt": 5})),
    Kept("metadata of another kind", user("u", metadata=["x"])),
    Kept("a data part", user("u") | {"parts": [DATA, *user("u")["parts"], DATA]}),
    Kept("data between words", user("u") | {"parts": user("a")["parts"] + [DATA] + user("b")["parts"]}),
]  # fmt: skip


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
async def test_what_a_message_has_for_its_client_comes_back(case: Kept) -> None:
    """After a reload, and after the message was regenerated; the model is not given it."""
    model = Scripted.saying("One.", "Two.")
    async with serving(agent(model)) as server:
        for more in ({}, {"trigger": "regenerate-message"}):
            answer = await post(server, case.message, **more)
            assert answer.status_code == 200, answer.text
            shown = (await server.messages())[0]
            if "metadata" not in case.message:
                assert isinstance(shown.pop("metadata")["createdAt"], int)
            assert shown == case.message
        assert "lat" not in str(model.requests)
        assert "custom" not in str(model.requests)


async def test_more_than_may_be_kept_is_refused() -> None:
    """422 with the reason."""
    async with serving(agent(Scripted.saying())) as server:
        for message in (
            user("u", metadata={"x": "y" * 70_000}),
            user("u") | {"parts": [*user("u")["parts"], DATA | {"data": "y" * 70_000}]},
        ):
            answer = await post(server, message)
            assert (answer.status_code, "metadata, data parts" in answer.text) == (422, True)


SYSTEM = {"id": "s1", "role": "system", "parts": [{"type": "text", "text": "Say yes."}]}


async def test_a_system_message_is_shown_and_not_followed() -> None:
    """Kept with the message that it came with, and once; a warning says that the model does not get it."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with serving(agent(model)) as server:
        first = await post(server, SYSTEM, user("u1"))
        assert warnings(first) == ["system-ignored"]
        shown = await server.messages()
        assert [message["role"] for message in shown] == ["system", "user", "assistant"]
        assert shown[0] == SYSTEM
        second = await post(server, *shown, user("u2"))
        assert warnings(second) == []
        assert [m["role"] for m in await server.messages()].count("system") == 1
        assert "Say yes." not in str(model.requests)
        assert warnings(await post(server, user("u3"), system="Say no.")) == ["system-ignored"]
        assert (await post(server, user("u3"), SYSTEM)).status_code == 422


async def test_messages_say_when_they_were_created() -> None:
    """The streamed one and the stored one the same, in milliseconds; a continuation does not change it."""
    model = Noting.saying(call("show_weather", "c1", city="Rome"), "Shown.")
    async with serving(agent(model)) as server:
        answer = await post(server, user("u1"), tools=WEATHER)
        started = chunks(answer)[0]["messageMetadata"]["createdAt"]
        [entry, *_] = await server.entries(answer.headers["x-prism-run"])
        assert isinstance(entry.record, RunStarted)
        assert started == round(entry.time * 1000)
        said, called = await server.messages()
        assert (said["metadata"]["createdAt"], called["metadata"]["createdAt"]) == (
            started,
            started,
        )
        for part in called["parts"]:
            if part["type"] == "tool-show_weather":
                part |= {"state": "output-available", "output": 1}
        more = await post(server, called, messageId=called["id"])
        assert "createdAt" not in chunks(more)[0]["messageMetadata"]
        assert (await server.messages())[-1]["metadata"]["createdAt"] == started
