"""Tools that return anything but a dictionary."""

from datetime import date
from decimal import Decimal

from google.adk.agents import LlmAgent
from pydantic import BaseModel


class Place(BaseModel):
    """A result with a type."""

    name: str
    visits: list[int] = []


def nothing() -> None:
    """Return nothing."""


def some() -> list[int]:
    """Return a list."""
    return [1, 2, 3]


def words() -> str:
    """Return a text."""
    return "some words, größer als ASCII"


def number() -> float:
    """Return a number."""
    return 1e21


def nested() -> dict[str, object]:
    """Return a deep dictionary."""
    return {"a": {"b": [{"c": None}, {"d": {"e": [True, [[]]]}}]}}


def model() -> Place:
    """Return a pydantic model."""
    return Place(name="Rome", visits=[1])


def dated() -> dict[str, object]:
    """Return values for which JSON has no type."""
    return {"day": date(2020, 2, 29), "price": Decimal("1.10"), "set": {1}, "raw": b"bytes"}


root_agent = LlmAgent(
    name="tool_results",
    model="gemini-2.5-flash",
    tools=[nothing, some, words, number, nested, model, dated],
)
