"""What is shown of the model calls of a live run is what ADK's real client sent to a loopback live server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.events.event import Event
from google.adk.models import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.live.agent import TOOLS
from tests.live.loopback import HANDLE, Family, LoopbackLive, certificate, serve_gemini_live
from tests.live.served import Client, Served, served
from tests.live.stage import runner_of

from adk_prism.diagnostics import Diagnostic, ignore
from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say
from adk_prism.pipeline.model_call_writer import ModelCallWriter
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.entry import Origin, RunId, RunStarted
from adk_prism.runlog.memory import MemoryLog
from adk_prism.source.live.model_calls import LiveCalls

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


async def test_what_is_shown_is_what_the_live_server_received(gemini: LoopbackLive) -> None:
    """Setup, history, messages and tool results, field by field; what came back, with its tokens."""
    root = LlmAgent(
        name="voice",
        model=Gemini(model=f"gemini-{gemini.family}-flash-live", base_url=gemini.url),
        tools=list(TOOLS),
        instruction=f"Be brief. The key is {SECRET}.",
        generate_content_config=types.GenerateContentConfig(temperature=0.5),
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
        first = await calls(server, client)
        async with server.live() as client:
            await client.say("again")
            await client.until_text("You said again. ")
            await client.until_chunk("finish")
            await client.send("close")
            await client.closed()
        second = await calls(server, client)
    (setup, later), (request, *_) = gemini.setups, first
    assert [_setup(each["request"]) for each in first] == [_redacted(setup)] * 4
    assert [_setup(each["request"]) for each in second] == [_redacted(later)]
    assert _contents(first[-1], second[-1]) == _sent(gemini)
    assert request["response"]["outputTranscription"] == {"text": "You said hello. "}
    assert first[1]["response"]["inputTranscription"] == {"text": "I heard 640 bytes"}
    (calling,) = first[2]["response"]["content"]["parts"]
    assert calling["functionCall"]["id"] == "c4"
    counts = {"input": 4, "output": 5, "total": 9}
    assert [each["usage"] for each in (*first, *second)] == [counts, counts, {}, counts, counts]
    for each in (*first, *second):
        assert (each["agent"], each["model"]) == ("voice", f"gemini-{gemini.family}-flash-live")
        assert 0 <= each["firstTokenMs"] <= each["durationMs"]
        assert "cut" not in each
    assert HANDLE not in json.dumps([first, second])


GENERATION = ("temperature", "responseModalities")


def _setup(request: Json) -> Json:
    """Return the setup that Gemini is sent for a request."""
    config = dict(request["config"])
    generation = {name: config.pop(name) for name in GENERATION}
    return {**config, "generationConfig": generation, "tools": request["tools"]}


def _redacted(setup: Json) -> Json:
    """Return a setup as ADK spells it, without the secret and the model."""
    text = json.dumps(setup).replace(SECRET, "[redacted]")
    for theirs, ours in _SPELLING.items():
        text = text.replace(theirs, ours)
    plain: Json = json.loads(text)
    plain.pop("model")
    return plain


_SPELLING = {
    "parameters_json_schema": "parametersJsonSchema",
    "initial_history_in_client_content": "initialHistoryInClientContent",
}


def _contents(*calls: Json) -> list[Json]:
    """Return what was sent in words and results: audio is named in its place, and compared elsewhere."""
    contents = [content for each in calls for content in each["request"]["contents"]]
    return [each for each in contents if "inlineData" not in each["parts"][0]]


def _sent(gemini: LoopbackLive) -> list[Json]:
    """Return what the server was sent, as contents."""
    contents: list[Json] = []
    for message in gemini.sent:
        if "clientContent" in message:
            contents += message["clientContent"]["turns"]
        elif "toolResponse" in message:
            answers = message["toolResponse"]["functionResponses"]
            parts = [{"functionResponse": answer} for answer in answers]
            contents.append({"parts": parts, "role": "user"})
        else:  # Gemini 3 takes a text as what is said now.
            text = message["realtimeInput"]["text"]
            contents.append({"parts": [{"text": text}], "role": "user"})
    return contents


async def test_what_a_callback_answers_is_no_call(gemini: LoopbackLive) -> None:
    """The model was not asked, and what it is sent later does not contain it."""

    def screen(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        del callback_context
        (part,) = llm_request.contents[-1].parts or ()
        if part.text == "hello":
            part.text = "hello!"
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
        await client.until_text("You said hello!. ")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
        (only,) = await calls(server, client)
    assert only["request"]["contents"] == _sent(gemini)
    assert only["request"]["contents"][0]["parts"] == [{"text": "hello!"}]
    assert only["response"]["outputTranscription"] == {"text": "You said hello!. "}


async def test_each_agent_has_the_setup_of_its_own_connection() -> None:
    """Of any model that can talk: a transfer opens another connection, with a history."""

    def script(request: LlmRequest) -> Turn:
        if "You are the other." in str(request.config.system_instruction):
            return say("Here.")
        if read_conversation(request).answers:
            return say("")
        return Turn((Call("transfer_to_agent", {"agent_name": "other"}, id="c1"),))

    other = LlmAgent(
        name="other", model=ScriptedModel(script=script), instruction="You are the other."
    )
    root = LlmAgent(name="voice", model=ScriptedModel(script=script), sub_agents=[other])
    async with served(runner_of(root), model_calls="full") as server, server.live() as client:
        await client.say("hello")
        await client.until_text("Here.")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
        first, *_, last = found = await calls(server, client)
    assert [each["agent"] for each in found] == ["voice", "other"], found
    assert "You are the other." in json.dumps(last["request"]["config"])
    assert "You are the other." not in json.dumps(first["request"]["config"])
    assert "transfer_to_agent" in json.dumps(first["request"]["tools"])
    assert last["request"]["contents"][0]["parts"] == [{"text": "hello"}]
    assert last["usage"]["total"] > 0


TURNS = 100


async def test_a_long_conversation_is_kept_once() -> None:
    """All turns of a connection take at most one and a half times the bytes of its last request."""
    origin, log = Origin(app="app", user="user", session="s1"), MemoryLog()
    await log.open()
    await log.append(RunId("run"), [RunStarted(run="run", origin=origin)])
    writer, live = ModelCallWriter(log, "full", ignore), LiveCalls("full", lambda: False)
    config = types.GenerateContentConfig(system_instruction="Be brief. " * 100)
    live.connect("voice", LlmRequest(model="m", config=config), ())
    for n in range(TURNS):
        live.send(LiveRequest(content=types.UserContent(f"Question {n}: " + f"what{n} " * 60)))
        answer = types.ModelContent(f"Answer {n}.")
        live.read(Event(author="voice", content=answer, usage_metadata=USAGE))
        live.read(Event(author="voice", turn_complete=True))
        (seen,) = live.take()
        await log.append(RunId("run"), [await writer.store(RunId("run"), origin, seen)])
    taken = (await log.summary(RunId("run"))).bytes
    (*_, last) = await ModelCalls(log).of_run(RunId("run"))
    assert len(last["request"]["contents"]) == TURNS
    assert taken <= 1.5 * len(msgspec.json.encode(last["request"]))
    await log.close()


USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=4, total_token_count=9)


async def test_watching_never_fails_a_run() -> None:
    """What cannot be read is reported once, and the next turn is watched again."""
    reports: list[Diagnostic] = []
    live = LiveCalls("full", lambda: False, reports.append)
    live.connect("voice", LlmRequest(model="m"), ())
    for _ in range(2):
        live.send(LiveRequest(content=types.UserContent("Hello.")))
        live.read(Event(author="voice", content=types.ModelContent("One.")))
        live.read(object())  # type: ignore[arg-type]  # on purpose
    live.read(Event(author="voice", content=types.ModelContent("Two."), turn_complete=True))
    live.close()
    assert [report.kind for report in reports] == ["model call not kept"]
    (seen,) = live.take()
    assert seen.texts is not None
    assert b"Two." in seen.texts.answer


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
