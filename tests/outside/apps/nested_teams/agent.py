"""Agents side by side inside a sequence, and one that joins their answers."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types


class Joining(BaseAgent):
    """Say what the others have left in the state: a model would see them in any order."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        content = types.ModelContent(f"{ctx.session.state['one']} / {ctx.session.state['two']}")
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


both = ParallelAgent(
    name="both",
    sub_agents=[
        LlmAgent(name="one", model="gemini-2.5-flash", output_key="one"),
        LlmAgent(name="two", model="gemini-2.5-flash", output_key="two"),
    ],
)
root_agent = SequentialAgent(name="nested_teams", sub_agents=[both, Joining(name="joining")])
