"""The model calls of a live run: its turns, with ADK's real client and a loopback live server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.events.event import Event
from google.adk.models import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.voice.agent import TOOLS
from tests.voice.live_run import runner_of
from tests.voice.loopback import Family, LoopbackLive, certificate, serve_gemini_live
from tests.voice.served import Client, Served, served

from adk_prism.errors import Diagnostic
from adk_prism.features.model_calls.live_calls import LiveCalls
from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say

# ADK 2.13 still calls google-genai's `session.send`.
pytestmark = pytest.mark.filterwarnings("ignore:The `session.send` method is deprecated")

Json = dict[str, Any]
SECRET = "AIza" + "b" * 35


@pytest.fixture(params=["2.5", "3.1"])
async def gemini(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LoopbackLive]:
    family: Family = request.param
    files = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    monkeypatch.setenv("GOOGLE_API_KEY", "dummy")
    async with serve_gemini_live(files, family) as found:
        found.family = family
        yield found


async def calls(server: Served, client: Client) -> list[Json]:
    run = next(frame["run"] for frame in client.frames if frame["type"] == "session")
    async with httpx.AsyncClient(base_url=server.url) as http:
        answer = await http.get(f"/api/runs/{run}/model-calls")
    found: list[Json] = answer.json()
    return found


async def test_each_turn_of_the_model_is_a_call(gemini: LoopbackLive) -> None:
    """With times and tokens; neither request nor response is known, and the answer says so."""
    root = LlmAgent(
        name="voice",
        model=Gemini(model=f"gemini-{gemini.family}-flash-live", base_url=gemini.url),
        tools=list(TOOLS),
    )
    async with served(runner_of(root), model_calls="full") as server:
        async with server.live() as client:
            await client.say("hello")
            await client.until_chunk("finish")
            await client.send("audio_control", action="start")
            await client.connection.send(bytes(640))
            await client.send("audio_control", action="stop")
            await client.until_chunk("finish")
            await client.say("pay")
            await client.until_chunk("tool-approval-request")
            await client.send("approval", approvalId="approval-c4", approved=True)
            await client.until_text("Paid. ")
            await client.until_chunk("finish")
            await client.send("close")
            await client.closed()
        found = await calls(server, client)
    counts = {"input": 4, "output": 5, "total": 9}
    assert [each["usage"] for each in found] == [counts, counts, {}, counts]
    for each in found:
        assert (each["agent"], each["model"]) == ("voice", f"gemini-{gemini.family}-flash-live")
        assert 0 <= each["firstTokenMs"] <= each["durationMs"]
        assert (each["request"], each["response"]) == (None, None)
        assert each["cut"] == ["request", "response"]


async def test_what_a_callback_answers_is_no_call(gemini: LoopbackLive) -> None:
    """The model was not asked."""

    def screen(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        del callback_context
        (part,) = llm_request.contents[-1].parts or ()
        if part.text == "hello":
            return None
        return LlmResponse(content=types.ModelContent("I do not talk about that."))

    root = LlmAgent(
        name="voice",
        model=Gemini(model=f"gemini-{gemini.family}-flash-live", base_url=gemini.url),
        before_model_callback=screen,
    )
    async with served(runner_of(root), model_calls="full") as server, server.live() as client:
        await client.say("a secret")
        await client.until_text("I do not talk about that.")
        await client.until_chunk("finish")
        await client.say("hello")
        await client.until_text("You said hello. ")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
        (only,) = await calls(server, client)
    assert only["usage"]["total"] == 9


async def test_each_agent_has_its_own_calls() -> None:
    """Of any model that can talk: a transfer opens another connection, with a history."""

    def script(request: LlmRequest) -> Turn:
        if "You are the other." in str(request.config.system_instruction):
            return say("Here.")
        if read_conversation(request).answers:
            return say("")
        return Turn((Call("transfer_to_agent", {"agent_name": "other"}, id="c1"),))

    other = LlmAgent(
        name="other",
        model=ScriptedModel(model="another", script=script),
        instruction="You are the other.",
    )
    root = LlmAgent(
        name="voice", model=ScriptedModel(model="first", script=script), sub_agents=[other]
    )
    async with served(runner_of(root), model_calls="full") as server, server.live() as client:
        await client.say("hello")
        await client.until_text("Here.")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
        found = await calls(server, client)
    named = [(each["agent"], each["model"]) for each in found]
    assert named == [("voice", "first"), ("other", "another")]
    assert found[-1]["usage"]["total"] > 0
    assert found[-1]["firstTokenMs"] is not None


async def test_watching_never_fails_a_run() -> None:
    """What cannot be read is reported once, and the next turn is watched again."""
    reports: list[Diagnostic] = []
    live = LiveCalls(lambda: "m", lambda: False, reports.append)
    for _ in range(2):
        live.send(LiveRequest(content=types.UserContent("Hello.")))
        live.read(Event(author="voice", content=types.ModelContent("One.")))
        live.read(object())  # type: ignore[arg-type]  # on purpose
    live.read(Event(author="voice", content=types.ModelContent("Two."), turn_complete=True))
    live.close()
    assert [report.kind for report in reports] == ["model call not kept"]
    (seen,) = live.take()
    assert (seen.record.agent, seen.record.model) == ("voice", "m")


async def test_a_summary_has_tokens_and_no_texts() -> None:
    """As of any other run."""
    agent = LlmAgent(name="voice", model=ScriptedModel(model="m", script=lambda _: say("Yes.")))
    async with served(runner_of(agent), model_calls="summary") as server, server.live() as client:
        await client.say("hello")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
        (only,) = await calls(server, client)
    assert (only["model"], only["request"], only["response"]) == ("m", None, None)
    assert only["usage"]["total"] > 0
