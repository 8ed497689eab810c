"""Three calls in one answer."""

import asyncio

from google.adk.agents import LlmAgent


async def slow(city: str) -> dict[str, str]:
    """Take some turns of the loop."""
    for _ in range(50):
        await asyncio.sleep(0)
    return {"slow": city}


async def quick(city: str) -> dict[str, str]:
    """Answer at once."""
    return {"quick": city}


def plain(city: str) -> dict[str, str]:
    """Answer without a coroutine."""
    return {"plain": city}


root_agent = LlmAgent(
    name="parallel_tools",
    model="gemini-2.5-flash",
    tools=[slow, quick, plain],
)
