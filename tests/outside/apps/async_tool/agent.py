"""A coroutine as a tool."""

import asyncio

from google.adk.agents import LlmAgent


async def look_up(word: str) -> dict[str, str]:
    """Look a word up."""
    await asyncio.sleep(0)
    return {"word": word}


root_agent = LlmAgent(
    name="async_tool",
    model="gemini-2.5-flash",
    tools=[look_up],
)
