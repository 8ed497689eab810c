"""An answer of a given shape from an agent that has tools."""

from google.adk.agents import LlmAgent
from pydantic import BaseModel


class Report(BaseModel):
    """The shape."""

    title: str
    pages: int


def count() -> dict[str, int]:
    """Count."""
    return {"pages": 3}


root_agent = LlmAgent(
    name="output_schema_tools",
    model="gemini-2.5-flash",
    output_schema=Report,
    output_key="report",
    tools=[count],
)
