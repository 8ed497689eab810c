"""A function as a tool, with all kinds of arguments."""

from typing import Literal

from google.adk.agents import LlmAgent


def book(
    city: str,
    nights: int,
    price: float,
    quiet: bool,
    tags: list[str],
    size: Literal["s", "l"] = "s",
) -> dict[str, object]:
    """Book a room."""
    return {
        "city": city,
        "nights": nights,
        "price": price,
        "quiet": quiet,
        "tags": tags,
        "size": size,
    }


root_agent = LlmAgent(
    name="sync_tool",
    model="gemini-2.5-flash",
    tools=[book],
)
