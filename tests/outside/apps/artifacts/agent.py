"""Artifacts: saved, overwritten, of a user, listed and loaded."""

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from google.genai import types


async def save(tool_context: ToolContext) -> dict[str, object]:
    """Save three."""
    part = types.Part(inline_data=types.Blob(mime_type="text/plain", data=b"words"))
    first = await tool_context.save_artifact("a.txt", part)
    second = await tool_context.save_artifact("a.txt", part)
    other = await tool_context.save_artifact("user:b.txt", types.Part(text="more"))
    return {"versions": [first, second, other]}


async def load(tool_context: ToolContext) -> dict[str, object]:
    """List and load."""
    found = await tool_context.load_artifact("a.txt")
    names = sorted(await tool_context.list_artifacts())
    return {"names": names, "data": str(found and found.inline_data and found.inline_data.data)}


root_agent = LlmAgent(
    name="artifacts",
    model="gemini-2.5-flash",
    tools=[save, load],
)
