"""The workflows of the tour, which the root agent calls as tools.

ADK 2.13 wraps a workflow among an agent's tools so that its nodes' events stay in the stream, can
wait for a person and can be resumed; an `AgentTool` would hide them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Context, LlmAgent
from google.adk.events.request_input import RequestInput
from google.adk.workflow import FunctionNode, JoinNode, RetryConfig, Workflow
from pydantic import BaseModel

from adk_prism.models import model_from_environment

from .specialists import saying

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
