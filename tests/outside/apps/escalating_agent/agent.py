"""A custom agent that ends its loop."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent, LoopAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions


class Counter(BaseAgent):
    """Count in the state, and stop at three."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        count = ctx.session.state.get("count", 0) + 1
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            actions=EventActions(state_delta={"count": count}, escalate=count >= 3),
        )


root_agent = LoopAgent(
    name="escalating_agent", max_iterations=9, sub_agents=[Counter(name="counter")]
)
