"""The agents that help the root agent. Each has a small script of its own for the offline model.

Sub-agents in `single_turn` mode run as tools of the root and their words are streamed; the
translator is an `AgentTool`, whose words are not; the guide takes the conversation over.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Context, LlmAgent
from google.adk.events.request_input import RequestInput
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import FunctionNode, JoinNode, RetryConfig, Workflow
from pydantic import BaseModel

from adk_prism.models import (
    Call,
    Say,
    Script,
    ScriptedModel,
    Turn,
    model_from_environment,
    read_conversation,
    say,
)

from .tools import get_weather, issue_refund

GUIDE = "guide"

CLERK = "clerk"

TRANSLATOR = "translator"

TRIP_SPECIALISTS = ("weather_specialist", "food_specialist", "budget_specialist")


def sub_agents(delay: float) -> list[LlmAgent]:
    """Return the root's sub-agents, new ones on every call."""
    return [_guide(delay), _clerk(delay), *_trip_specialists(delay)]


def translator_tool(delay: float) -> AgentTool:
    """Return the translator as a tool."""
    translator = LlmAgent(
        name=TRANSLATOR,
        description="Translates a short text into Portuguese.",
        instruction="Translate the request into Portuguese. Answer with the translation only.",
        model=model_from_environment(saying("Bom dia (synthetic)", delay)),
    )
    return AgentTool(translator)


def saying(text: str, delay: float) -> ScriptedModel:
    """Return an offline model that always says the same."""
    return scripted(lambda request: say(text), delay)


def scripted(script: Script, delay: float) -> ScriptedModel:
    """Return an offline model of the tour."""
    return ScriptedModel(model="tour-offline", script=script, delay=delay)


def _guide(delay: float) -> LlmAgent:
    words = "Hello, I am the guide. Your next message goes back to the tour."
    return LlmAgent(
        name=GUIDE,
        description="Greets the person when the conversation is handed over.",
        instruction="Greet the person in one sentence.",
        model=model_from_environment(saying(words, delay)),
        # An agent that may not hand back does not keep the conversation: ADK gives the next message
        # to the root, so that every prompt of the tour works at any time.
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )


def _clerk(delay: float) -> LlmAgent:
    return LlmAgent(
        name=CLERK,
        mode="single_turn",
        description="Pays money back; each refund has to be approved.",
        instruction="Issue the refund that was asked for, then say what happened.",
        model=model_from_environment(scripted(_clerk_script, delay)),
        tools=[FunctionTool(issue_refund, require_confirmation=True)],
    )


def _clerk_script(request: LlmRequest) -> Turn:
    answer = read_conversation(request).answer("issue_refund")
    if answer is None:
        return Turn(
            (Say("I prepare the refund."), Call("issue_refund", {"order": 7, "amount": 19.9}))
        )
    return say("The refund was not approved." if "error" in answer else "The refund is paid.")


def _trip_specialists(delay: float) -> list[LlmAgent]:
    scripts: tuple[Script, ...] = (
        _weather_script,
        lambda request: say("Try the small places by the river, early in the evening (synthetic)."),
        lambda request: say(
            "Two hundred euros are enough for two days, with the train (synthetic)."
        ),
    )
    topics = ("the weather", "food", "money")
    return [
        LlmAgent(
            name=name,
            mode="single_turn",
            description=f"Knows about {topic} on a trip.",
            instruction=f"Say in two sentences what matters about {topic}.",
            model=model_from_environment(scripted(script, delay)),
            tools=[get_weather] if topic == "the weather" else [],
        )
        for name, topic, script in zip(TRIP_SPECIALISTS, topics, scripts, strict=True)
    ]


def _weather_script(request: LlmRequest) -> Turn:
    if read_conversation(request).answer("get_weather") is None:
        return Turn((Say("I look first."), Call("get_weather", {"city": "Porto"})))
    return say("Take a light coat, for the evenings are cool (synthetic).")


PLAN_TRIP = "plan_trip"

BOOK_TABLE = "book_table"

LOOK_UP = "look_up"


class Trip(BaseModel):
    """A trip to plan."""

    destination: str
    days: int = 2


class Table(BaseModel):
    """A table to book."""

    restaurant: str


class Guests(BaseModel):
    """What the person is asked before a table is booked."""

    guests: int
    terrace: bool = False


class Word(BaseModel):
    """A word to look up."""

    word: str


def plan_trip(delay: float) -> Workflow:
    """Return a workflow with a function, two models side by side, a join and a last function."""
    route = _planner("route_planner", "Take the early train and change once (synthetic).", delay)
    hotel = _planner("hotel_planner", "A room near the station is free (synthetic).", delay)
    return Workflow(
        name=PLAN_TRIP,
        description="Plans a trip with several steps.",
        input_schema=Trip,
        edges=[("START", brief, (route, hotel), JoinNode(name="gather"), conclude)],
    )


def book_table() -> Workflow:
    """Return a workflow that asks the person something before it continues."""
    return Workflow(
        name=BOOK_TABLE,
        description="Books a table and asks the person for how many.",
        input_schema=Table,
        edges=[("START", ask_for_guests, confirm_table)],
    )


def look_up() -> Workflow:
    """Return a workflow whose only step fails the first time and is tried again."""
    again = RetryConfig(max_attempts=2, initial_delay=0.0, jitter=0.0)
    step = FunctionNode(func=_shaky_step, name="shaky_step", retry_config=again)
    return Workflow(
        name=LOOK_UP,
        description="Looks a word up in a place that is not reliable.",
        input_schema=Word,
        edges=[("START", step)],
    )


def _planner(name: str, words: str, delay: float) -> LlmAgent:
    return LlmAgent(
        name=name,
        instruction="Answer in one sentence with a plausible, made-up suggestion for the trip.",
        model=model_from_environment(saying(words, delay)),
    )


def brief(ctx: Context, node_input: Trip) -> str:
    ctx.state["planned_trip"] = {"destination": node_input.destination, "days": node_input.days}
    return f"{node_input.days} days in {node_input.destination}"


def conclude(node_input: dict[str, Any]) -> dict[str, Any]:
    return {"plan": node_input, "synthetic": True}


async def ask_for_guests(node_input: Table) -> AsyncGenerator[RequestInput, None]:
    yield RequestInput(
        message=f"For how many people at {node_input.restaurant}?",
        payload={"restaurant": node_input.restaurant},
        response_schema=Guests,
    )


def confirm_table(node_input: Any) -> dict[str, Any]:
    return {"booked": True, "answer": node_input, "synthetic": True}


def _shaky_step(ctx: Context, node_input: Word) -> dict[str, Any]:
    if ctx.attempt_count == 1:
        raise ConnectionError("The first attempt always fails (synthetic).")
    return {"word": node_input.word, "meaning": "a body that parts light", "synthetic": True}
