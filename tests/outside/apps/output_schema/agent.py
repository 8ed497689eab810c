"""An answer of a given shape, kept in the state."""

from google.adk.agents import LlmAgent
from pydantic import BaseModel


class Report(BaseModel):
    """The shape."""

    title: str
    pages: int
    tags: list[str]


root_agent = LlmAgent(
    name="output_schema", model="gemini-2.5-flash", output_schema=Report, output_key="report"
)
