"""Tools that say how far they are: what is recorded of it, and what each client is sent."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from tests.adk.scripted import Scripted, call
from tests.server.local_server import Json, LocalServer, local_server

from adk_prism import mcp_progress, report_progress
from adk_prism.facts.adk_event import PROGRESS
from adk_prism.progress import LARGEST, LONGEST, PAUSE


async def count_sheep(tool_context: ToolContext) -> Json:
    """Count sheep."""
    report_progress(tool_context, 1, 3, "first sheep", {"name": "Dolly"})
    await asyncio.sleep(2 * PAUSE)
    report_progress(tool_context, 2, 3, "second sheep")
    return {"sheep": 3}


def count_in_a_thread(tool_context: ToolContext) -> Json:
    """Count sheep where no event loop runs."""
    report_progress(tool_context, 1, 2, "in the tool's thread")
    time.sleep(2 * PAUSE)
    own = threading.Thread(target=report_progress, args=(tool_context, 2, 2, "in its own thread"))
    own.start()
    own.join()
    return {"sheep": 2}


async def run_tool(tool: Any, model: Scripted | None = None, **options: Any) -> list[Json]:
    """Return the reports that a run recorded of its only tool call."""
    name = tool.__name__
    model = model or Scripted.saying([call(name, "c1")], "Done.")
    root = LlmAgent(name="agent", model=model, tools=[tool])
    async with local_server(root, **options) as server:
        return await reports(server, await server.say("Go"))


async def reports(server: LocalServer, run: str) -> list[Json]:
    stream = await server.client.get(f"/api/runs/{run}/stream?as=adk")
    lines = [line[6:] for line in stream.text.splitlines() if line.startswith("data: ")]
    told = [json.loads(line).get("customMetadata", {}).get(PROGRESS) for line in lines]
    return [report for report in told if report]


async def test_a_report_reaches_every_client() -> None:
    root = LlmAgent(
        name="agent",
        model=Scripted.saying([call("count_sheep", "c1")], "Three sheep."),
        tools=[count_sheep],
    )
    async with local_server(root) as server:
        run = await server.say("Count")

        async def read(protocol: str) -> list[Json]:
            answer = await server.client.get(f"/api/runs/{run}/stream?as={protocol}")
            assert answer.status_code == 200, answer.text
            lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
            return [json.loads(line) for line in lines if line != "[DONE]"]

        first = {"done": 1, "total": 3, "message": "first sheep", "data": {"name": "Dolly"}}
        second = {"done": 2, "total": 3, "message": "second sheep"}
        outputs = [f for f in await read("ai-sdk") if f["type"] == "tool-output-available"]
        assert [(f["output"], f.get("preliminary", False)) for f in outputs] == [
            (first, True),
            (second, True),
            ({"sheep": 3}, False),
        ]
        shown = [f for f in await read("ag-ui") if f.get("activityType") == "adk.progress"]
        assert [f["content"]["message"] for f in shown] == ["first sheep", "second sheep"]
        assert len({f["messageId"] for f in shown}) == 1, "the next report replaces the last"
        logged = (await server.client.get(f"/api/runs/{run}/stream?as=studio")).text
        assert "count_sheep 1 of 3: first sheep" in logged
        assert [r["message"] for r in await reports(server, run)] == ["first sheep", "second sheep"]
        (message,) = [m for m in await server.messages() if m["role"] == "assistant"]
        (part,) = [p for p in message["parts"] if p["type"] == "tool-count_sheep"]
        assert (part["state"], part["output"]) == ("output-available", {"sheep": 3})
        assert "preliminary" not in part
        stored = await server.stored()
        assert PROGRESS not in json.dumps(stored), "no session has it, so no model sees it"


async def test_from_threads() -> None:
    told = await run_tool(count_in_a_thread, tool_threads=4)
    assert [r["message"] for r in told] == ["in the tool's thread", "in its own thread"]


async def test_a_flood_is_throttled_and_the_newest_counts() -> None:
    async def flood(tool_context: ToolContext) -> Json:
        """Report very often."""
        for number in range(2000):
            report_progress(tool_context, number, 2000)
            if number % 100 == 0:
                await asyncio.sleep(0.01)
        await asyncio.sleep(3 * PAUSE)
        return {}

    began = time.monotonic()
    told = await run_tool(flood)
    most = (time.monotonic() - began) / PAUSE + 2
    assert 2 <= len(told) <= most
    assert told[0]["done"] == 0
    assert told[-1]["done"] == 1999


class Loop:
    """Refers to itself."""

    def __init__(self) -> None:
        self.me = self


class Opaque:
    """Has no JSON form and no text."""

    def __repr__(self) -> str:
        raise RuntimeError("not even this")


ODD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"done": math.nan, "total": math.inf}, {}),
    ({"done": "three", "total": True}, {}),
    ({"done": 10**400, "total": -(10**6000)}, {}),
    ({"message": 7}, {}),
    ({"data": {"o": Opaque()}}, {"data": {"o": "<Opaque>"}}),
    ({"done": -1, "total": 0}, {"done": -1, "total": 0}),
    ({"message": "x" * 5000}, {"message": "x" * LONGEST}),
    ({"message": "half a pair \ud800"}, {"message": "half a pair \ufffd"}),
    ({"data": "x" * LARGEST}, {}),
    ({"data": {1: {2, 3}}}, {"data": {"1": [2, 3]}}),
    ({"data": {"__proto__": 1}}, {"data": {"__proto__": 1}}),
]


@pytest.mark.parametrize(("said", "told"), ODD, ids=map(str, range(len(ODD))))
async def test_odd_reports_do_no_harm(said: Json, told: Json) -> None:
    async def odd(tool_context: ToolContext) -> Json:
        """Report something odd."""
        report_progress(tool_context, **said)
        return {"ok": True}

    assert await run_tool(odd) == [{"call": "c1", **told}]


async def test_what_no_json_can_hold_is_no_reason_to_fail() -> None:
    async def odd(tool_context: ToolContext) -> Json:
        """Report an object."""
        report_progress(tool_context, data=Loop())
        return {"ok": True}

    (told,) = await run_tool(odd)
    assert told["call"] == "c1"


async def test_secrets_are_removed() -> None:
    async def leak(tool_context: ToolContext) -> Json:
        """Report a secret."""
        report_progress(tool_context, message="using it", data={"api_key": "sk-very-secret-value"})
        return {}

    (told,) = await run_tool(leak)
    assert "sk-very-secret-value" not in json.dumps(told)


async def test_outside_a_recorded_run_it_does_nothing() -> None:
    root = LlmAgent(
        name="agent", model=Scripted.saying([call("count_sheep", "c1")]), tools=[count_sheep]
    )
    service = InMemorySessionService()
    runner = Runner(app_name="app", agent=root, session_service=service)
    await service.create_session(app_name="app", user_id="u", session_id="s")
    told = [e async for e in runner.run_async(user_id="u", session_id="s", new_message=_go())]
    assert any(e.get_function_responses() for e in told)
    assert not any(e.custom_metadata for e in told)


def _go() -> Any:
    from google.genai import types

    return types.Content(role="user", parts=[types.Part(text="Go")])


async def test_inside_an_agent_that_is_a_tool() -> None:
    inner = LlmAgent(
        name="inner",
        model=Scripted.saying([call("count_sheep", "i1")], "Three."),
        tools=[count_sheep],
    )
    root = LlmAgent(
        name="agent",
        model=Scripted.saying([call("inner", "c1", request="Count")], "Three."),
        tools=[AgentTool(inner)],
    )
    async with local_server(root) as server:
        run = await server.say("Go")
        found = [e for e in await server.entries(run) if type(e.record).__name__ == "ChildEvent"]
        assert sum(PROGRESS.encode() in bytes(e.record.event) for e in found) == 2  # type: ignore[union-attr]
        answer = await server.client.get(f"/api/runs/{run}/stream?as=ai-sdk")
        assert "preliminary" not in answer.text, "the call is no part of the message"


async def test_what_a_client_posts_back_is_no_answer() -> None:
    """A client that was cut off has a preliminary output, and sends it with its next message."""
    root = LlmAgent(
        name="agent",
        model=Scripted.saying([call("count_sheep", "c1")], "Three.", "Again."),
        tools=[count_sheep],
    )
    async with local_server(root) as server:
        await server.say("Count")
        messages = await server.messages()
        for part in messages[-1]["parts"]:
            if part["type"] == "tool-count_sheep":
                part |= {"preliminary": True, "output": {"done": 1}}
        messages.append({"id": "u2", "role": "user", "parts": [{"type": "text", "text": "Again"}]})
        answer = await server.client.post(
            "/api/chat/app", json={"id": "chat", "messages": messages, "trigger": "submit-message"}
        )
        assert answer.status_code == 200, answer.text
        assert "Again." in answer.text.replace('"delta":"', "").replace(" ", "")


async def test_mcp_servers_report_through_the_same_door() -> None:
    async def ask_server(tool_context: ToolContext) -> Json:
        """Do what ADK's MCP tool does with its callback."""
        report = mcp_progress("ask_server", callback_context=tool_context, more="to come")
        assert report is not None
        await report(0.5, None, "half")
        return {}

    assert mcp_progress("ask_server") is None
    assert await run_tool(ask_server) == [{"call": "c1", "done": 0.5, "message": "half"}]
