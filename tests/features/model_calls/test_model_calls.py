"""The model calls that are recorded are those that the model got, whatever changed them on their way."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from google.adk.agents import Context, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import Gemini
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import AgentTool, FunctionTool
from google.adk.workflow import Workflow, node
from google.genai import types
from tests.adk.runs import ORIGIN
from tests.adk.scripted import Scripted
from tests.features.model_calls.recorded_calls import Conversation, conversing
from tests.gemini_replies import ANSWER, QUOTA, THOUGHT_AND_TOOL
from tests.loopback_gemini import Json, Reply, chunk, serve_gemini
from tests.recordings.shapes import agent

from adk_prism import cache_prefix
from adk_prism.adk.sessions import Sessions
from adk_prism.features.long_sessions import prefix, session_cache
from adk_prism.features.long_sessions.session_cache import SessionCache
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.watching import LONGEST_TEXT
from adk_prism.log.entry import Decision, ModelCalled, NodeEnded, pack
from adk_prism.log.memory import MemoryLog
from adk_prism.models import Pause, Say, Turn


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client insists on a key; the server does not look at it."""
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")


def get_weather(city: str) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


def _call(name: str, **args: Any) -> Reply:
    return [chunk({"functionCall": {"name": name, "args": args}}, finish="STOP")]


Model = Callable[[], Gemini]
"""Makes a model that asks the loopback server."""


def _weather(model: Model, **more: Any) -> LlmAgent:
    return LlmAgent(
        name="root",
        model=model(),
        tools=[get_weather],
        instruction="Be brief.",
        generate_content_config=types.GenerateContentConfig(
            temperature=0.5, max_output_tokens=100, stop_sequences=["X"]
        ),
        **more,
    )


def _rewritten(model: Model) -> LlmAgent:
    def rewrite(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        del callback_context
        llm_request.append_instructions(["Added by the agent's callback."])
        llm_request.contents[-1:] = [types.UserContent("Something else.")]
        llm_request.config.temperature = 0.1

    return _weather(model, before_model_callback=rewrite)


def _cached(model: Model) -> LlmAgent:
    def refer(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        del callback_context
        llm_request.config.cached_content = "cachedContents/abc"
        llm_request.config.system_instruction = llm_request.config.tools = None

    return _weather(model, before_model_callback=refer)


def _handing_over(model: Model) -> LlmAgent:
    other = LlmAgent(name="other", model=model(), instruction="You are the other.")
    return LlmAgent(name="root", model=model(), sub_agents=[other])


def _hidden(model: Model) -> LlmAgent:
    inner = LlmAgent(name="inner", model=model(), instruction="You are inside.")
    return LlmAgent(name="root", model=model(), tools=[AgentTool(inner)])


class _Rewriting(BasePlugin):
    def __init__(self) -> None:
        super().__init__(name="rewriting")

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        del callback_context
        llm_request.append_instructions(["Added by a plugin."])


class Case(NamedTuple):
    """An agent, what its model answers, and what is said to it."""

    root: Callable[[Model], LlmAgent]
    replies: tuple[Reply, ...]
    messages: tuple[str | types.Content, ...] = ("go",)
    agents: tuple[str, ...] = ("root",)
    streaming: bool = True
    plugins: tuple[Callable[[], BasePlugin], ...] = ()


PICTURE = types.UserContent(
    [types.Part(text="Look."), types.Part.from_bytes(data=b"\xfb\xff" * 40, mime_type="image/png")]
)
CASES = {
    "text": Case(_weather, (ANSWER,)),
    "whole answers": Case(
        _weather, (THOUGHT_AND_TOOL, ANSWER), agents=("root",) * 2, streaming=False
    ),
    "tools": Case(_weather, (THOUGHT_AND_TOOL, ANSWER, ANSWER), ("go", "again"), ("root",) * 3),
    "a callback": Case(_rewritten, (THOUGHT_AND_TOOL, ANSWER), agents=("root",) * 2),
    "cached content": Case(_cached, (ANSWER,)),
    "a plugin": Case(_rewritten, (ANSWER,), plugins=(_Rewriting,)),
    "a transfer": Case(
        _handing_over,
        (_call("transfer_to_agent", agent_name="other"), ANSWER, ANSWER),
        ("go", "again"),
        ("root", "other", "other"),
    ),
    "an agent inside a tool": Case(
        _hidden,
        (_call("inner", request="Do it."), ANSWER, ANSWER),
        agents=("root", "inner", "root"),
    ),
    "a picture": Case(_weather, (ANSWER, ANSWER), (PICTURE, "And?"), ("root",) * 2),
    "a cached prefix": Case(
        _weather, (ANSWER,) * 14, ("go",) * 14, ("root",) * 14, plugins=(cache_prefix,)
    ),
    "a cached prefix and a callback": Case(
        _rewritten, (ANSWER,) * 14, ("go",) * 14, ("root",) * 14, plugins=(cache_prefix,)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_shown_is_what_gemini_received(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field by field, for every request of a conversation."""
    monkeypatch.setattr(session_cache, "SHORTEST", 4)
    monkeypatch.setattr(prefix, "KEPT", 3)
    monkeypatch.setattr(prefix, "LONGEST", 8)
    with serve_gemini(*case.replies) as server:
        root = case.root(lambda: Gemini(model="gemini-2.5-flash", base_url=server.url))
        async with conversing(root, plugins=[make() for make in case.plugins]) as talk:
            sent = [await talk.send(each, streaming=case.streaming) for each in case.messages]
    calls = [each for turn in sent for each in turn]
    assert not talk.reports
    calls.sort(key=lambda each: each["started"])
    assert [each["agent"] for each in calls] == list(case.agents)
    assert [_body(each["request"]) for each in calls] == list(map(_plain, server.requests))
    for each in calls:
        assert each["model"] == "gemini-2.5-flash"
        assert each["usage"] == {"input": 7, "output": 9, "reasoning": 3, "total": 19}
        assert each["response"]["usageMetadata"]["promptTokenCount"] == 7
        assert (each["finishReason"], each["errorCode"]) == ("STOP", None)
        assert 0 <= each["firstTokenMs"] <= each["durationMs"]
        assert "cut" not in each


GENERATION = ("temperature", "maxOutputTokens", "stopSequences")


def _body(request: Json) -> Json:
    """Return what Gemini's REST API is sent for a request of ADK."""
    config = dict(request["config"])
    said = config.pop("systemInstruction", None)
    instruction = {"parts": [{"text": said}], "role": "user"}
    cached = {"cachedContent": config.pop("cachedContent")} if "cachedContent" in config else {}
    generation = {name: config.pop(name) for name in GENERATION if name in config}
    assert not config, "every field of the config has its place in the body"
    body = cached | ({"systemInstruction": instruction} if said else {})
    return (
        body
        | {"contents": request["contents"]}
        | {"tools": request["tools"], "generationConfig": generation}
    )


_SPELLING = {"parameters_json_schema": "parametersJsonSchema", "mime_type": "mimeType"}
"""Names that google-genai leaves in snake case."""


def _plain(body: Json) -> Json:
    """Return a body as ADK spells it."""
    text = json.dumps({"tools": [], **body})
    for theirs, ours in _SPELLING.items():
        text = text.replace(theirs, ours)
    plain: Json = json.loads(text)
    return plain


async def test_an_approved_call_is_part_of_the_next_request() -> None:
    """The model gets it with its result, in the run that the answer starts."""

    def delete(path: str) -> dict[str, str]:
        return {"deleted": path}

    tool = FunctionTool(delete, require_confirmation=True)
    with serve_gemini(_call("delete", path="x"), ANSWER) as server:
        model = Gemini(model="gemini-2.5-flash", base_url=server.url)
        root = LlmAgent(name="root", model=model, tools=[tool])
        first, second = await _approved(root)
    assert (len(first), len(second)) == (1, 1)
    assert [_body(e["request"]) for e in (*first, *second)] == list(map(_plain, server.requests))
    assert "deleted" in json.dumps(second)


async def _approved(root: LlmAgent) -> tuple[list[Json], list[Json]]:
    """Return the model calls until a tool is approved, and those after."""
    async with conversing(root) as talk:
        first = await talk.send()
        parts = [part for event in await talk.events() for part in event["content"]["parts"]]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        decision = Decision(approval=calls[-1]["id"], approved=True)
        return first, await talk.send(None, decisions=[decision])


# --------------------------------------------------------------------------- how calls end


async def test_a_call_that_fails_is_a_call_with_an_error() -> None:
    """Its code, its request, no response; the text of the exception is nowhere."""
    with serve_gemini(QUOTA) as server:
        root = _weather(lambda: Gemini(model="gemini-2.5-flash", base_url=server.url))
        async with conversing(root) as talk:
            (failed,) = await talk.send()
    assert failed["errorCode"] == "RESOURCE_EXHAUSTED"
    assert failed["firstTokenMs"] is None
    assert failed["response"] == {}
    assert _body(failed["request"]) == _plain(server.requests[0])


async def test_a_request_that_a_callback_answers_is_no_call() -> None:
    """The model was not asked."""
    model = Scripted.saying("Never said.")

    def answer(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
        del callback_context, llm_request
        return LlmResponse(content=types.ModelContent("Mine."))

    root = LlmAgent(name="root", model=model, before_model_callback=answer)
    async with conversing(root) as talk:
        assert await talk.send() == []
    assert model.requests == []


async def test_what_a_callback_makes_of_the_response_is_not_what_the_model_said() -> None:
    """The response is the model's own."""

    def replace(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        del callback_context
        if llm_response.content is not None and llm_response.content.parts:
            llm_response.content.parts[0].text = "Changed."
        return None

    root = LlmAgent(name="root", model=Scripted.saying("Said."), after_model_callback=replace)
    async with conversing(root) as talk:
        (made,) = await talk.send()
    assert made["response"]["content"]["parts"] == [{"text": "Said."}]


async def test_a_call_that_is_cancelled_is_recorded() -> None:
    """With its request, before its node ends."""
    waiting = asyncio.Event()
    root = LlmAgent(name="root", model=Scripted.saying(waiting))
    async with conversing(root) as talk:
        running = asyncio.create_task(talk.send())
        await waiting.wait()
        running.cancel()
        await asyncio.wait([running])
        kinds = [type(entry.record) for entry in await talk.entries()]
        (cancelled,) = await talk.calls(talk.runs[0])
    assert kinds.index(ModelCalled) < kinds.index(NodeEnded)
    assert cancelled["errorCode"] == "cancelled"
    assert cancelled["request"]["contents"] == [{"parts": [{"text": "go"}], "role": "user"}]


async def test_several_whole_responses_are_one_call() -> None:
    """Their parts are together, as the next request has them."""

    class Twice(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            del llm_request, stream
            yield LlmResponse(content=types.ModelContent("One. "))
            yield LlmResponse(content=types.ModelContent("Two."), model_version="v2")

    async with conversing(LlmAgent(name="root", model=Twice(model="twice"))) as talk:
        (made,) = await talk.send()
    assert made["response"]["content"]["parts"] == [{"text": "One. "}, {"text": "Two."}]
    assert (made["model"], made["response"]["modelVersion"]) == ("twice", "v2")


# --------------------------------------------------------------------------- what is kept


async def test_secrets_do_not_enter() -> None:
    """The log's redaction sees every piece; HTTP headers and credentials are left out."""
    secret = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"[:35]
    root = LlmAgent(
        name="root",
        model=Scripted.saying("Yes."),
        instruction=f"Use the key {secret}.",
        generate_content_config=types.GenerateContentConfig(
            http_options=types.HttpOptions(headers={"x-own": "hidden-header"}, timeout=5000)
        ),
    )
    async with conversing(root) as talk:
        talk.log.attach(redact=lambda _, text: text.replace(secret.encode(), b"[redacted]"))
        (made,) = await talk.send()
        stored = b"".join(pack(entry.record)[1] for entry in await talk.entries())
    shown = json.dumps(made)
    assert "Use the key [redacted]." in shown
    assert made["request"]["config"]["httpOptions"] == {"timeout": 5000}
    assert not re.search(f"{secret}|hidden-header", shown + stored.decode())


async def test_the_record_contains_no_text() -> None:
    """What was said is in pieces only."""
    root = LlmAgent(name="root", model=Scripted.saying("Answered."), instruction="Instructed.")
    async with conversing(root) as talk:
        await talk.send("Asked.")
        (record,) = [e.record for e in await talk.entries() if isinstance(e.record, ModelCalled)]
    assert not re.search(rb"Answered|Instructed|Asked", pack(record)[1])


async def test_a_summary_has_no_pieces() -> None:
    """Times and tokens, without request and response."""
    with serve_gemini(ANSWER) as server:
        root = _weather(lambda: Gemini(model="gemini-2.5-flash", base_url=server.url))
        async with conversing(root, "summary") as talk:
            (made,) = await talk.send()
    assert (made["request"], made["response"]) == (None, None)
    assert made["usage"]["total"] == 19
    assert made["finishReason"] == "STOP"


async def test_nothing_is_recorded_if_it_is_off() -> None:
    """No record at all."""
    async with conversing(LlmAgent(name="root", model=Scripted.saying("Yes.")), "off") as talk:
        assert await talk.send() == []


async def test_what_is_too_large_is_cut_and_marked() -> None:
    """The rest of the request is whole, in this call and the next ones."""
    root = LlmAgent(name="root", model=Scripted.saying("Yes.", "Yes."), instruction="i" * 2_000_000)
    async with conversing(root) as talk:
        await talk.send("x" * 5_000_000)
        (made,) = await talk.send("And now?")
    contents = made["request"]["contents"]
    assert made["cut"] == ["config/systemInstruction", "contents/0"]
    assert contents[0]["parts"][0]["text"].endswith("x… [cut: 5000000 characters]")
    assert contents[2]["parts"][0]["text"] == "And now?"
    assert len(json.dumps(made)) < LONGEST_TEXT


async def test_values_without_a_json_form_do_no_harm() -> None:
    """Lone surrogates, classes and objects: described, and the run goes on."""

    class Strange(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            del stream
            llm_request.contents[0].parts = [types.Part(text="\ud800 x")]
            llm_request.config.tools = [object(), get_weather]  # type: ignore[list-item]  # on purpose
            yield LlmResponse(content=types.ModelContent("Fine."))

    async with conversing(LlmAgent(name="root", model=Strange(model="s"))) as talk:
        (made,) = await talk.send()
    assert made["request"]["contents"][0]["parts"][0]["text"].endswith(" x")
    assert len(made["request"]["tools"]) == 2
    assert made["response"]["content"]["parts"] == [{"text": "Fine."}]


TURNS = 100


async def test_a_long_conversation_is_kept_once() -> None:
    """All calls of a hundred turns take at most one and a half times the bytes of the last request."""
    answers = [f"Answer {n}: " + f"word{n} " * 40 for n in range(TURNS)]
    root = LlmAgent(name="root", model=Scripted.saying(*answers), instruction="Be brief. " * 100)
    async with conversing(root) as talk:
        for n in range(TURNS):
            (last,) = await talk.send(f"Question {n}: " + f"what{n} " * 20)
        taken = await _bytes_of_calls(talk)
    request = len(json.dumps(last["request"], separators=(",", ":")))
    assert len(last["request"]["contents"]) == 2 * TURNS - 1
    assert taken <= 1.5 * request


async def _bytes_of_calls(talk: Conversation) -> int:
    """Return what the model calls of all runs take: records and pieces."""
    taken = 0
    for summary in await talk.log.list():
        taken += summary.bytes
        async for batch in talk.log.read(summary.run):
            others = (e.record for e in batch if not isinstance(e.record, ModelCalled))
            taken -= sum(len(pack(record)[1]) for record in others)
    return taken


async def test_the_same_agent_several_times_at_once() -> None:
    """Each of its runs has its own call, also in one branch: `asyncio.gather` over `ctx.run_node`."""
    worker = agent("worker", lambda _: Turn((Pause(0.01), Say("one "), Pause(0.01), Say("two"))))

    async def dispatch(ctx: Context, node_input: Any) -> str:
        asked = (ctx.run_node(worker, f"question {number}") for number in range(3))
        return str(await asyncio.gather(*asked))

    root = Workflow(name="flow", edges=[("START", node(dispatch, rerun_on_resume=True))])
    async with conversing(root) as talk:
        calls = await talk.send()
    asked = [call["request"]["contents"][-1]["parts"][0]["text"] for call in calls]
    assert sorted(asked) == ["question 0", "question 1", "question 2"]
    assert {call["usage"]["total"] for call in calls} == {4}


async def test_the_call_of_a_compaction() -> None:
    """ADK summarises a long session with a call of its own: it is counted, with its tokens."""
    root = agent("root", "An answer.")
    summarizer = LlmEventSummarizer(llm=root.model)
    compaction = EventsCompactionConfig(
        compaction_interval=1, overlap_size=0, summarizer=summarizer
    )
    app = App(name=ORIGIN.app, root_agent=root, events_compaction_config=compaction)
    service = SessionCache(InMemorySessionService())
    await Sessions(service).create(ORIGIN)
    log = MemoryLog()
    await log.open()
    talk = Conversation(log, Runner(app=app, session_service=service), "full")
    calls = await talk.send()
    assert [call["agent"] for call in calls] == ["root", "compaction"]
    assert calls[1]["usage"]["total"] > calls[0]["usage"]["total"]
    response = msgspec.json.decode(msgspec.json.encode(calls[1]["response"]))
    assert response["content"]["parts"]
    times = response["compaction"]
    assert 0 < times["startTimestamp"] <= times["endTimestamp"]
    later = await talk.send()
    first, second = (summary.run for summary in await log.list())
    reader = ModelCalls(log)
    found = await reader.compacted(second, later[0]["cursor"], [first])
    assert [(each["agent"], each["run"]) for each in found] == [
        ("compaction", first),
        ("root", first),
    ]
    assert await reader.compacted(first, calls[0]["cursor"], []) == []
    await log.close()
