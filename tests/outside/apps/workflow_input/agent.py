"""A workflow that asks the person for something of a given shape."""

from collections.abc import AsyncGenerator

from google.adk.events.request_input import RequestInput
from google.adk.workflow import Workflow
from pydantic import BaseModel


class Guests(BaseModel):
    """What is asked for."""

    guests: int
    terrace: bool = False


async def ask(node_input: object) -> AsyncGenerator[RequestInput, None]:
    """Ask."""
    yield RequestInput(message="For how many?", payload={"at": "Rome"}, response_schema=Guests)


def book(node_input: object) -> dict[str, object]:
    """Book."""
    return {"booked": str(node_input)}


root_agent = Workflow(name="workflow_input", edges=[("START", ask, book)])
