"""Conversations that nobody wrote: a seed decides what agents do, what people say, and what else happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from random import Random
from typing import Any
from uuid import UUID

from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.planners import PlanReActPlanner
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools import LongRunningFunctionTool, ToolContext, load_artifacts
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from msgspec import Raw
from pydantic import PrivateAttr

from adk_prism.adk.request import CallAnswer, RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.session_store import live_events
from adk_prism.adk.sessions import Sessions, copied
from adk_prism.errors import Conflict, PrismError
from adk_prism.log.entry import Decision, Entry, Origin, Record

PIXEL = types.Blob(data=b"\x89PNG", mime_type="image/png", display_name="dot.png")


class RandomModel(BaseLlm):
    """Does whatever its lots say: speaks, calls tools, hands over, fails."""

    model: str = "improviser"
    _lots: Random = PrivateAttr()
    _requests: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _own_ids: Iterator[str | None] = PrivateAttr()

    @classmethod
    def of(cls, seed: int) -> RandomModel:
        model = cls()
        model._lots = Random(seed)
        model._own_ids = _ids(Random(seed + 1))
        return model

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What each request was, to the last field."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        self._requests.append(_written(llm_request))
        for content in llm_request.contents:  # as an adapter might, which owns its request
            content.role = content.role or "user"
            for part in content.parts or []:
                part.thought = None
        lot = self._lots.random()
        tools = sorted(set(llm_request.tools_dict) - {"transfer_to_agent"})
        if lot < 0.03:
            raise ValueError("The model is away.")
        parts = self._calls(tools) if tools and lot < 0.35 else self._words()
        if "transfer_to_agent" in llm_request.tools_dict and 0.35 <= lot < 0.5:
            parts = [self._transfer(llm_request)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    def _words(self) -> list[types.Part]:
        said = types.Part(text=f"Sentence {self._lots.randrange(1000)}.")
        thought = types.Part(text="Well.", thought=True)
        return [thought, said] if self._lots.random() < 0.2 else [said]

    def _calls(self, tools: list[str]) -> list[types.Part]:
        chosen = self._lots.choices(tools, k=self._lots.choice([1, 1, 1, 2]))
        return [self._call(name, {"text": f"{self._lots.randrange(9)}"}) for name in chosen]

    def _call(self, name: str, args: dict[str, Any]) -> types.Part:
        if name == "load_artifacts":
            args = {"artifact_names": ["note.txt"]}
        elif name in ("expert",):
            args = {"request": "What?"}
        call = types.FunctionCall(id=next(self._own_ids), name=name, args=args)
        return types.Part(function_call=call)

    def _transfer(self, request: LlmRequest) -> types.Part:
        declared = [
            declaration
            for tool in request.config.tools or []
            for declaration in tool.function_declarations or []  # type: ignore[union-attr]
            if declaration.name == "transfer_to_agent"
        ]
        schema = declared[0].parameters_json_schema or {}
        names = schema["properties"]["agent_name"]["enum"]
        return self._call("transfer_to_agent", {"agent_name": self._lots.choice(sorted(names))})


def _ids(lots: Random) -> Iterator[str | None]:
    """Yield ids of calls: ADK's, unique ones of the model's, and in some seeds ones used before."""
    careless = lots.random() < 0.25
    while True:
        if careless and lots.random() < 0.3:
            yield f"call_{lots.randrange(3)}"
        else:
            yield None if lots.random() < 0.7 else str(UUID(int=lots.getrandbits(128)))


def _written(request: LlmRequest) -> dict[str, Any]:
    return {
        "kinds": {type(content) for content in request.contents},
        "contents": [content.model_dump() for content in request.contents],
        "config": request.config.model_dump(exclude={"http_options"}),
        "tools": sorted(request.tools_dict),
        "model": request.model,
    }


# --------------------------------------------------------------------------- agents


def look_up(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Look something up."""
    tool_context.state["mood"] = text
    return {"found": text * 2}


async def note(text: str, tool_context: ToolContext) -> str:
    """Keep a note."""
    await tool_context.save_artifact("note.txt", types.Part(text=text))
    return "kept"


def gated(text: str) -> str:
    """Do what has to be allowed."""
    return f"did {text}"


def elsewhere(text: str) -> None:
    """Be done by the client."""


def _tools() -> list[Any]:
    return [
        look_up,
        note,
        FunctionTool(gated, require_confirmation=True),
        LongRunningFunctionTool(elsewhere),
        load_artifacts,
    ]


def alone(model: BaseLlm) -> LlmAgent:
    return LlmAgent(name="root", model=model, instruction="Mood: {mood?}.", tools=_tools())


def instructed(model: BaseLlm) -> LlmAgent:
    """Its instruction comes between the messages, after a picture that comes first."""
    static = types.Content(
        role="user", parts=[types.Part(text="Look."), types.Part(inline_data=PIXEL)]
    )
    return LlmAgent(
        name="root",
        model=model,
        static_instruction=static,
        instruction="Mood: {mood?}.",
        tools=_tools(),
        output_key="last",
    )


def handing_over(model: BaseLlm) -> LlmAgent:
    """Three who hand over to each other, one of whom does not give back, and a sequence."""
    first = LlmAgent(name="first", description="1", instruction="{mood?}", tools=[look_up])
    second = LlmAgent(
        name="second", description="2", static_instruction="Still.", instruction="{mood?}"
    )
    keeper = LlmAgent(name="keeper", description="3", disallow_transfer_to_parent=True)
    row = SequentialAgent(
        name="row", description="4", sub_agents=[LlmAgent(name="one", model=model)]
    )
    gate = FunctionTool(gated, require_confirmation=True)
    return LlmAgent(name="root", model=model, tools=[gate], sub_agents=[first, second, keeper, row])


def side_by_side(model: BaseLlm) -> LlmAgent:
    """Two who speak at once, in lanes of their own, and one who is hidden in a tool."""
    pair: list[BaseAgent] = [LlmAgent(name=name, model=model) for name in ("left", "right")]
    both = ParallelAgent(name="both", description="1", sub_agents=pair)
    expert = LlmAgent(name="expert", description="2", model=model)
    return LlmAgent(name="root", model=model, tools=[look_up, AgentTool(expert)], sub_agents=[both])


def forgetful(model: BaseLlm) -> LlmAgent:
    """One who looks at the last turn only, and one who plans."""
    short = LlmAgent(name="short", description="1", include_contents="none", tools=[look_up])
    planner = LlmAgent(name="planner", description="2", planner=PlanReActPlanner())
    return LlmAgent(name="root", model=model, tools=[look_up], sub_agents=[short, planner])


def delegating(model: BaseLlm) -> LlmAgent:
    """Agents with lanes of their own, one of them hidden in a tool."""
    once = LlmAgent(name="once", description="1", model=model, mode="single_turn")
    expert = LlmAgent(name="expert", description="2", model=model)
    return LlmAgent(name="root", model=model, tools=[look_up, AgentTool(expert)], sub_agents=[once])


def looked_at(model: BaseLlm) -> LlmAgent:
    """Whose callbacks see requests, and change them."""

    def shorten(callback_context: Any, llm_request: LlmRequest) -> None:
        del callback_context
        llm_request.config.labels = {"count": str(len(llm_request.contents))}
        llm_request.contents = llm_request.contents[-40:]

    return LlmAgent(name="root", model=model, tools=_tools(), before_model_callback=shorten)


ROOTS: dict[str, Callable[[BaseLlm], LlmAgent]] = {
    made.__name__: made
    for made in (alone, instructed, handing_over, forgetful, side_by_side, delegating, looked_at)
}


# --------------------------------------------------------------------------- conversations


async def _ignored(record: Record | Entry) -> None:
    """Where the starts and ends of nodes go."""


class Conversation:
    """A session in which a seed decides what happens next, and, if there are several, who serves it."""

    def __init__(
        self,
        root: str,
        seed: int,
        *services: BaseSessionService,
        plugins: Sequence[BasePlugin] = (),
    ) -> None:
        lots = Random(seed)
        self.model = RandomModel.of(seed)
        resumable = ResumabilityConfig(is_resumable=True) if lots.random() < 0.3 else None
        app = App(
            name="app",
            root_agent=ROOTS[root](self.model),
            plugins=list(plugins),
            resumability_config=resumable,
        )
        artifacts = InMemoryArtifactService()
        self._replicas = [
            Runner(app=app, session_service=service, artifact_service=artifacts)
            for service in services
        ]
        self._dice = Random(seed)
        self.origin = Origin(app="app", user="u", session="s")
        self._lots = lots
        self._compacts = lots.random() < 0.3
        self._turn = 0
        self._choose()

    def _choose(self) -> None:
        self.runner = self._dice.choice(self._replicas)
        self.sessions = Sessions(self.runner.session_service)

    async def begin(self) -> None:
        await self.sessions.create(self.origin, {"mood": "calm"})

    async def go_on(self) -> None:
        """Let one thing happen; mostly, somebody says something."""
        self._turn += 1
        self._choose()
        lot = self._lots.random()
        if lot < 0.12:
            await self._answer()
        elif lot < 0.19:
            await self._rewind()
        elif lot < 0.22:
            await self._fork()
        elif lot < 0.25:
            await self.sessions.append_state(self.origin, {"mood": f"mood {self._turn}"})
        elif lot < 0.28 and self._compacts:
            await self._compact()
        elif 0.28 <= lot < 0.31:
            await self._speak()
        else:
            await self._run(message=self._message())

    def _message(self) -> types.Content:
        parts = [types.Part(text=f"Message {self._turn}.")]
        if self._lots.random() < 0.1:
            parts.insert(0, types.Part(inline_data=PIXEL))
        return types.Content(role="user", parts=parts)

    async def _run(self, **request: Any) -> None:
        asked = RunRequest(run=f"run-{self._turn}", origin=self.origin, **request)
        source = RunnerSource(self.runner, asked, nodes=True)
        stops = self._lots.randrange(1, 4) if self._lots.random() < 0.08 else 0
        # The model was away, or ADK has found an id that was used twice, or the request does not fit
        # the session; it does not fit the other one either.
        with suppress(ValueError, PrismError):
            async with aclosing(source.records(_ignored)) as records:
                async for _ in records:
                    stops -= 1
                    if stops == 0:
                        source.cancel()

    async def _answer(self) -> None:
        """Answer the last call that waits for somebody."""
        events = live_events(await self.sessions.get(self.origin))
        answered = {each.id for event in events for each in event.get_function_responses()}
        for event in reversed(events):
            waiting = event.long_running_tool_ids or set()
            for call in event.get_function_calls():
                if call.id not in waiting or call.id is None:
                    continue
                if call.name == "adk_request_confirmation" and call.id not in answered:
                    yes = self._lots.random() < 0.6
                    await self._run(decisions=[Decision(approval=call.id, approved=yes)])
                    return
                if call.name == "elsewhere" and call.id not in answered:
                    result = CallAnswer(call=call.id, name=call.name, response=Raw(b'{"done":1}'))
                    await self._run(answers=[result])
                    return

    async def _rewind(self) -> None:
        events = live_events(await self.sessions.get(self.origin))
        said = [e.invocation_id for e in events if e.author == "user" and e.content is not None]
        if not said:
            return
        back = min(len(said), 1 + int(self._lots.expovariate(0.4)))
        with suppress(Conflict):
            await self.sessions.rewind(self.runner, self.origin, said[-back])

    async def _fork(self) -> None:
        """Go on in a copy."""
        events = live_events(await self.sessions.get(self.origin))
        self.origin = Origin(app="app", user="u", session=f"s-{self._turn}")
        session = await self.sessions.create(self.origin)
        for event in events:
            await self.runner.session_service.append_event(session, copied(event))

    async def _speak(self) -> None:
        """Leave what a live connection leaves: words that were heard, in pieces."""
        session = await self.sessions.get(self.origin)
        call = Event.new_id()
        for piece in range(self._lots.randrange(1, 4)):
            words = types.Transcription(text=f"Piece {piece} of {self._turn}.")
            heard = Event(author="user", invocation_id=call, input_transcription=words)
            said = Event(author="root", invocation_id=call, output_transcription=words)
            said.live_session_id = "live" if self._lots.random() < 0.5 else None
            for event in (
                (heard, said)
                if piece
                else (heard, heard.model_copy(update={"id": Event.new_id()}), said)
            ):
                await self.runner.session_service.append_event(session, event)

    async def _compact(self) -> None:
        session = await self.sessions.get(self.origin)
        summary = EventCompaction(
            start_timestamp=session.events[0].timestamp,
            end_timestamp=session.events[len(session.events) // 2].timestamp,
            compacted_content=types.Content(role="model", parts=[types.Part(text="In short.")]),
        )
        event = Event(
            author="user", invocation_id=Event.new_id(), actions=EventActions(compaction=summary)
        )
        await self.runner.session_service.append_event(session, event)
