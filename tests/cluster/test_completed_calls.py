"""A replica is gone after a model has answered, before its agent has ended: the model is not asked again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, BaseNode, Workflow
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import begin, ended, replica, vanish
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

from adk_prism.log.entry import RunEnded

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


class Place:
    """Where the first replica stands still; the second one passes."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.holds = True
        self.passed: list[str] = []
        self.models: list[Scripted] = []

    def model(self, *turns: Any) -> Scripted:
        self.models.append(Scripted.saying(*turns))
        return self.models[-1]

    async def hold(self, callback_context: CallbackContext) -> None:
        self.passed.append(callback_context.agent_name)
        if self.holds:
            self.reached.set()
            await asyncio.Event().wait()

    @property
    def calls(self) -> int:
        return sum(len(model.requests) for model in self.models)


def single(place: Place) -> BaseNode:
    return LlmAgent(name="agent", model=place.model("Done."), after_agent_callback=place.hold)


def after_a_tool(place: Place) -> BaseNode:
    def look() -> str:
        """Look."""
        return "seen"

    model = place.model(call("look", "c1"), "Done.") if place.holds else place.model("Again.")
    return LlmAgent(name="agent", model=model, tools=[look], after_agent_callback=place.hold)


def transfer(place: Place) -> BaseNode:
    other = LlmAgent(
        name="other", model=place.model("Done."), after_agent_callback=place.hold, description="."
    )
    first = place.model(call("transfer_to_agent", "t1", agent_name="other"))
    return LlmAgent(name="agent", model=first, sub_agents=[other])


def sequence(place: Place) -> BaseNode:
    first = LlmAgent(name="first", model=place.model("One."), after_agent_callback=place.hold)
    second = LlmAgent(name="second", model=place.model("Two."))
    return SequentialAgent(name="agent", sub_agents=[first, second])


def loop(place: Place) -> BaseNode:
    again = LlmAgent(name="again", model=place.model("One.", "Two."))
    again.after_agent_callback = place.hold
    return LoopAgent(name="agent", sub_agents=[again], max_iterations=2)


def parallel(place: Place) -> BaseNode:
    first = LlmAgent(name="first", model=place.model("One."), after_agent_callback=place.hold)
    second = LlmAgent(name="second", model=place.model("Two."), after_agent_callback=place.hold)
    return ParallelAgent(name="agent", sub_agents=[first, second])


def single_turn(place: Place) -> BaseNode:
    child = LlmAgent(
        name="child",
        model=place.model("Inside."),
        mode="single_turn",
        description="A child.",
        after_agent_callback=place.hold,
    )
    turns: list[Any] = [call("child", "s1", request="go"), "Done."]
    root = place.model(*turns) if place.holds else place.model("Done.")
    return LlmAgent(name="agent", model=root, sub_agents=[child])


def graph(place: Place) -> BaseNode:
    first = LlmAgent(name="first", model=place.model("One."), after_agent_callback=place.hold)
    second = LlmAgent(name="second", model=place.model("Two."))
    return Workflow(name="agent", edges=[(START, first), (first, second)])


def agent_tool(place: Place) -> BaseNode:
    child = LlmAgent(name="child", model=place.model("Inside."), description="A child.")
    root = place.model(call("child", "a1", request="go"), "Done.")
    return LlmAgent(
        name="agent", model=root, tools=[AgentTool(child)], after_agent_callback=place.hold
    )


@dataclass(frozen=True)
class Case:
    make: Callable[[Place], BaseNode]
    rest: int
    """Calls of models that are left for the second replica."""
    texts: Sequence[str]
    """What the session holds in the end."""
    calls_back: bool = True
    """Whether ADK runs the agent again that had answered, with its callbacks."""


CASES = [
    Case(single, 0, ["Done."]),
    Case(after_a_tool, 0, ["Done."]),
    Case(transfer, 0, ["Done."]),
    Case(sequence, 1, ["One.", "Two."]),
    Case(loop, 1, ["One.", "One."]),  # the second replica's model begins with its first turn
    Case(parallel, 0, ["One.", "Two."], calls_back=False),
    Case(single_turn, 1, ["Inside.", "Inside.", "Done."]),
    Case(graph, 1, ["One.", "Two."], calls_back=False),
    Case(agent_tool, 0, ["Done."]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.make.__name__)
async def test_a_completed_call_is_not_repeated(
    case: Case, redis: RedisServer, tmp_path: Path
) -> None:
    """The answer that is stored counts, callbacks that did not end are called again, and the rest of the
    agents runs. The parent of a child that answers once gets the child's answer again."""
    dying, surviving = Place(), Place()
    surviving.holds = False
    async with (
        replica(case.make(dying), redis, tmp_path) as one,
        replica(case.make(surviving), redis, tmp_path) as two,
    ):
        run = await begin(one)
        await asyncio.wait_for(dying.reached.wait(), PATIENCE)
        if case.make is parallel:
            async with asyncio.timeout(PATIENCE):
                while len(dying.passed) < 2:  # noqa: ASYNC110 - both stand still
                    await asyncio.sleep(0.01)
        await vanish(one)
        assert await ended(two, run) == "finished"
        assert surviving.calls == case.rest, await two.session()
        stored = (await two.session())["events"]
        parts = [part for e in stored if e["author"] != "user" for part in _parts(e)]
        said = [part["text"] for part in parts if "text" in part]
        assert sorted(said) == sorted(case.texts), json.dumps(stored, indent=1)
        assert bool(surviving.passed) == case.calls_back


def _parts(event: dict[str, Any]) -> list[dict[str, Any]]:
    return event.get("content", {}).get("parts", [])


async def test_an_app_that_cannot_resume_has_answered(redis: RedisServer, tmp_path: Path) -> None:
    """Its run is over with what is stored."""
    dying, surviving = Place(), Place()
    surviving.holds = False
    async with (
        replica(single(dying), redis, tmp_path, resumable=False) as one,
        replica(single(surviving), redis, tmp_path, resumable=False) as two,
    ):
        run = await begin(one)
        await asyncio.wait_for(dying.reached.wait(), PATIENCE)
        await vanish(one)
        assert await ended(two, run) == "finished"
        assert not surviving.calls
        last = (await two.entries(run))[-1].record
        assert isinstance(last, RunEnded)
        assert last.code == ""
