"""Tools that a toolset gives, depending on the state."""

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools import BaseTool, FunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset


def first(tool_context: ToolContext) -> dict[str, bool]:
    """Open the second tool."""
    tool_context.state["opened"] = True
    return {"opened": True}


def second() -> dict[str, int]:
    """Be there after the first."""
    return {"second": 2}


class Opening(BaseToolset):
    """Give one tool, then two."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        opened = readonly_context is not None and readonly_context.state.get("opened")
        return [FunctionTool(each) for each in ((first, second) if opened else (first,))]

    async def close(self) -> None:
        """Nothing to close."""


root_agent = LlmAgent(name="toolset", model="gemini-2.5-flash", tools=[Opening()])
