"""A workflow as a tool: its nodes' events are in the stream, and it can wait."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.events.request_input import RequestInput
from google.adk.workflow import Workflow
from pydantic import BaseModel


class Table(BaseModel):
    """What to book."""

    restaurant: str


async def ask(node_input: Table) -> AsyncGenerator[RequestInput, None]:
    """Ask."""
    yield RequestInput(message=f"How many at {node_input.restaurant}?")


def book(node_input: object) -> dict[str, object]:
    """Book."""
    return {"booked": node_input}


booking = Workflow(
    name="booking", description="Books.", input_schema=Table, edges=[("START", ask, book)]
)
root_agent = LlmAgent(name="workflow_tool", model="gemini-2.5-flash", tools=[booking])
