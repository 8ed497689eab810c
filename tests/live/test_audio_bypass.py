"""The audio bypass: what is heard and recorded is the same with and without it; by default it is off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.events.event import Event
from google.adk.live import _live_llm_flow
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.adk.planners import PlanReActPlanner
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from tests.live.agent import TOOLS, script
from tests.live.stage import LiveStage, answers, live, runner_of, scripted_agent
from tests.patience import PATIENCE

from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say
from adk_prism.models.voice_activity import tone
from adk_prism.runlog.entry import AgentEvent, ApprovalAsked, Entry
from adk_prism.source.live.audio_log import audio_in
from adk_prism.source.live.pending_questions import ApprovalDecision

Scene = Callable[[LiveStage], Any]

bypassed = partial(live, audio_bypass=True)

_ADK_FLOW = _live_llm_flow.postprocess_live_flow


class AdkFlow:
    """Counts the chunks of audio that go through ADK's flow."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chunks = 0
        monkeypatch.setattr(_live_llm_flow, "postprocess_live_flow", self._seen)

    def _seen(self, flow: Any, context: Any, request: Any, response: Any, event: Any) -> Any:
        self.chunks += audio_in(response) is not None
        return _ADK_FLOW(flow, context, request, response, event)


@pytest.fixture
def adk_flow(monkeypatch: pytest.MonkeyPatch) -> AdkFlow:
    return AdkFlow(monkeypatch)


# --------------------------------------------------------------------------- the same with and without


async def chat(run: LiveStage) -> None:
    await run.say("hello")
    await run.until_done()
    await run.say("again")
    await run.until_done(2)


async def speak(run: LiveStage) -> None:
    sound = tone(440, 500, 16_000)
    for start in range(0, len(sound), 640):
        assert run.source.send_audio(sound[start : start + 640])
    run.source.end_speech()
    await run.until_done()


async def approve(run: LiveStage) -> None:
    await run.say("pay twice")
    await run.until(lambda record: isinstance(record, ApprovalAsked), 2)
    run.source.questions.decide("approval-c2", ApprovalDecision(False, "too much"))
    await run.until(lambda record: bool(answers_in(record)))
    run.source.questions.decide("approval-c1", ApprovalDecision(True))
    await run.until_done()


async def long_speech(run: LiveStage) -> None:
    """More than is joined into one event."""
    await run.say("a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2)
    await run.until_done()


async def transfer(run: LiveStage) -> None:
    await run.say("go")
    await run.until_done()


def answers_in(record: Any) -> Any:
    return answers([json.loads(record.event)]) if isinstance(record, AgentEvent) else {}


def two_agents() -> LlmAgent:
    """One that hands over to another, with a model of its own."""

    def hand_over(_: LlmRequest) -> Turn:
        return Turn((*say("Wait. ").steps, Call("transfer_to_agent", {"agent_name": "other"})))

    other = LlmAgent(
        name="other", model=ScriptedModel(model="scripted", script=lambda _: say("I am another."))
    )
    model = ScriptedModel(model="scripted", script=hand_over)
    return LlmAgent(name="voice", model=model, sub_agents=[other])


def one_agent() -> LlmAgent:
    return scripted_agent(script, TOOLS)


def slow_agent() -> LlmAgent:
    return scripted_agent(script, TOOLS, delay=0.001)


@dataclass(frozen=True)
class Case:
    """A conversation, and its agent."""

    id: str
    play: Scene
    agent: Callable[[], LlmAgent] = one_agent
    modality: str = "audio"


CASES = (
    Case("typed", chat),
    Case("typed, at a pace", chat, slow_agent),
    Case("spoken", speak),
    Case("spoken, at a pace", speak, slow_agent),
    Case("approvals", approve),
    Case("approvals, at a pace", approve, slow_agent),
    Case("a long speech", long_speech),
    Case("a long speech, at a pace", long_speech, slow_agent),
    Case("a transfer", transfer, two_agents),
    Case("written", chat, modality="text"),
)


def told(entries: list[Entry]) -> list[Any]:
    """Return what was recorded, but for ids that are drawn, and times."""
    return [_told(entry.record) for entry in entries]


def _told(record: Any) -> Any:
    if not isinstance(record, AgentEvent):
        return record
    event = json.loads(record.event)
    for drawn in ("id", "timestamp"):
        event.pop(drawn)
    return json.loads(_without_call_ids(json.dumps(event)))


def _without_call_ids(text: str) -> str:
    head, *rest = text.split('"live-')
    return head + "".join('"live"' + piece.partition('"')[2] for piece in rest)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_it_changes_nothing(case: Case) -> None:
    """Neither the log, entry by entry, nor the audio, chunk by chunk."""
    found = []
    for audio_bypass in (True, False):
        pieces: list[Any] = []
        runner = runner_of(case.agent())
        async with live(runner, audio_bypass=audio_bypass, modality=case.modality) as run:
            run.source.listener = pieces.append
            await case.play(run)
        found.append((told(await run.entries()), pieces))
    (short, heard), (long, heard_long) = found
    assert heard == heard_long
    assert short == long


async def test_audio_is_taken_directly(adk_flow: AdkFlow) -> None:
    """All of it, once what was sent before it is recorded."""
    async with bypassed(runner_of(slow_agent())) as run:
        await long_speech(run)
        assert run.sound
        assert adk_flow.chunks == 0
    async with live(runner_of(slow_agent()), audio_bypass=False) as run:
        await long_speech(run)
        assert adk_flow.chunks >= 50


# --------------------------------------------------------------------------- apps that see the audio


class Watcher(BasePlugin):
    """Handles each event, and makes all audio short."""

    def __init__(self) -> None:
        super().__init__(name="watcher")
        self.shown = 0
        self.invocations: set[str] = set()

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        self.invocations.add(invocation_context.invocation_id)
        if audio_in(event) is None:
            return None
        self.shown += 1
        blob = types.Blob(data=b"\1\0", mime_type="audio/pcm;rate=24000")
        said = types.Content(role="model", parts=[types.Part(inline_data=blob)])
        return event.model_copy(update={"content": said})


class Loud(LlmAgent):
    """Does something of its own with what its model says."""

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async for event in super()._run_live_impl(ctx):
            yield event


class OwnRunner(Runner):
    """Does something of its own with events."""

    async def run_live(self, **given: Any) -> AsyncGenerator[Event, None]:  # type: ignore[override]
        async for event in super().run_live(**given):
            yield event


def _runner(agent: BaseAgent, kind: type[Runner] = Runner, *plugins: BasePlugin) -> Runner:
    return kind(
        app=App(name="app", root_agent=agent, plugins=list(plugins)),
        artifact_service=InMemoryArtifactService(),
        session_service=InMemorySessionService(),
    )


def _model() -> ScriptedModel:
    return ScriptedModel(model="scripted", script=script, delay=0.001)


OBSERVED: dict[str, Callable[[], Runner]] = {
    "an agent of one's own": lambda: _runner(Loud(name="voice", model=_model())),
    "a runner of one's own": lambda: _runner(slow_agent(), OwnRunner),
    "a planner": lambda: _runner(
        LlmAgent(name="voice", model=_model(), planner=PlanReActPlanner())
    ),
    "a code executor": lambda: _runner(
        LlmAgent(name="voice", model=_model(), code_executor=UnsafeLocalCodeExecutor())
    ),
}
"""Apps with code that sees what the model sends."""


@pytest.mark.parametrize("case", OBSERVED)
async def test_it_is_not_used_where_code_of_the_app_sees_the_audio(
    case: str, adk_flow: AdkFlow
) -> None:
    """It is heard all the same."""
    runner = OBSERVED[case]()
    async with bypassed(runner) as run:
        await chat(run)
        assert adk_flow.chunks == len(run.sound) // 3840 > 0


@pytest.mark.parametrize("audio_bypass", [True, False])
async def test_event_plugins_are_called_for_each_event(
    audio_bypass: bool, adk_flow: AdkFlow
) -> None:
    """With and without the bypass; and what they return counts."""
    watcher = Watcher()
    async with live(_runner(slow_agent(), Runner, watcher), audio_bypass=audio_bypass) as run:
        await chat(run)
        assert watcher.shown == 6
        assert run.sound == b"\1\0" * 6
        assert adk_flow.chunks == (0 if audio_bypass else 6)
        assert watcher.invocations == {"e-1"}


class Bystander(BasePlugin):
    """Is not called for events."""

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        del invocation_context


UNOBSERVED: dict[str, Callable[[], Runner]] = {
    "a plugin for other things": lambda: _runner(slow_agent(), Runner, Bystander(name="other")),
    "a sequence of agents": lambda: _runner(SequentialAgent(name="all", sub_agents=[slow_agent()])),
}


@pytest.mark.parametrize("case", UNOBSERVED)
async def test_it_is_used_where_no_code_of_the_app_sees_the_audio(
    case: str, adk_flow: AdkFlow
) -> None:
    """Whatever else there is."""
    async with bypassed(UNOBSERVED[case]()) as run:
        await run.say("hello")
        await run.until(lambda record: bool(answers_in(record)) or "You" in str(record))
        await run.until_done()
        assert run.sound
        assert adk_flow.chunks == 0


async def test_streaming_tools_get_what_is_sent() -> None:
    """A tool that takes a copy of what is sent to the model gets it."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(input_stream: LiveRequestQueue) -> AsyncGenerator[str, None]:
        """Listen to the user."""
        while True:
            request = await input_stream.get()
            if request.blob is not None:
                heard.put_nowait(request.blob.data or b"")
                yield "heard"

    def plan(request: LlmRequest) -> Turn:
        found = read_conversation(request)
        asked = found.prompt == "listen" and not found.answers
        return Turn((Call("listen", {}, id="c1"),)) if asked else say("Yes.")

    async with bypassed(runner_of(scripted_agent(plan, [listen]))) as run:
        await run.say("listen")
        await run.until_done()
        assert run.source.send_audio(b"\1\0" * 320)
        async with asyncio.timeout(PATIENCE):
            assert await heard.get() == b"\1\0" * 320


# --------------------------------------------------------------------------- models


class Named(ScriptedModel):
    """A model that is known by its name."""

    script: Callable[[LlmRequest], Turn] = script
    delay: float = 0.001

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["named-.*"]


@pytest.fixture
def named() -> None:
    LLMRegistry.register(Named)


@pytest.mark.usefixtures("named")
async def test_a_model_that_is_named(adk_flow: AdkFlow) -> None:
    """Its agent says a name, or nothing at all and has its parent's."""
    child = LlmAgent(name="child")
    agent = LlmAgent(name="voice", model="named-1", sub_agents=[child])
    async with bypassed(runner_of(agent)) as run:
        await chat(run)
        assert run.sound
        assert adk_flow.chunks == 0
        for found in (agent, child):
            model = found.canonical_live_model
            assert isinstance(model, Named)
            assert (type(model).__name__, model.model) == ("Named", "named-1")


async def test_by_default_nothing_of_the_app_is_changed(adk_flow: AdkFlow) -> None:
    """Neither the model's class nor its connection."""
    connections: list[BaseLlmConnection] = []

    class Opened(ScriptedModel):
        @asynccontextmanager
        async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
            async with super().connect(llm_request) as connection:
                connections.append(connection)
                yield connection

    model = Opened(model="scripted", script=script)
    async with live(runner_of(LlmAgent(name="voice", model=model))) as run:
        await run.say("hello")
        await run.until_done()
        assert type(model) is Opened
        assert [("receive" in vars(each)) for each in connections] == [False]
        assert adk_flow.chunks == len(run.sound) // 3840 > 0


async def test_a_model_stays_what_it_is() -> None:
    """Its class has a child of the same name; its fields, copies and text forms are as before."""
    model = _model()
    before = (repr(model), model.model_dump(exclude={"script"}))
    async with bypassed(runner_of(LlmAgent(name="voice", model=model))) as run:
        await run.say("hello")
        await run.until_done()
    assert isinstance(model, ScriptedModel)
    assert (repr(model), model.model_dump(exclude={"script"})) == before
    copied = model.model_copy()
    assert copied == model
    async with copied.connect(LlmRequest()) as connection:
        await connection.close()


class Sealed(BaseLlm):
    """A model whose class allows no child."""

    inner: Any = None

    def __init_subclass__(cls, **given: Any) -> None:
        raise TypeError("final")

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        raise NotImplementedError
        yield llm_request, stream

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        async with self.inner.connect(llm_request) as connection:
            yield connection


async def test_a_model_whose_class_cannot_be_subclassed(adk_flow: AdkFlow) -> None:
    """Its audio goes through ADK's flow."""
    model = Sealed(model="sealed", inner=_model())
    async with bypassed(runner_of(LlmAgent(name="voice", model=model))) as run:
        await chat(run)
        assert type(model) is Sealed
        assert adk_flow.chunks == len(run.sound) // 3840 > 0


async def test_a_live_run_inside_a_tool_is_not_touched(adk_flow: AdkFlow) -> None:
    """Its audio goes through ADK's flow."""
    model = _model()
    inner = runner_of(LlmAgent(name="inner", model=model))

    async def ask() -> str:
        """Ask another agent, aloud."""
        await inner.session_service.create_session(app_name="app", user_id="u", session_id="s")
        queue = LiveRequestQueue()
        queue.send_content(types.UserContent("hello"))
        heard = 0
        async with asyncio.timeout(PATIENCE):
            async for event in inner.run_live(
                user_id="u", session_id="s", live_request_queue=queue
            ):
                heard += audio_in(event) is not None
                if event.turn_complete:
                    queue.close()
        return f"{heard} pieces"

    def plan(request: LlmRequest) -> Turn:
        found = read_conversation(request)
        if found.answers:
            return say(str(found.answers[0].response["result"]))
        return Turn((Call("ask", {}, id="c1"),)) if found.prompt == "ask" else script(request)

    model.script = plan
    async with bypassed(runner_of(LlmAgent(name="voice", model=model, tools=[ask]))) as run:
        await run.say("ask")
        await run.until_done()
        assert answers(await run.events())["c1"] == {"result": "3 pieces"}
        assert len(run.sound) == 2 * 3840
    assert adk_flow.chunks == 3
