"""An agent that raises after it has said something."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types


class Breaking(BaseAgent):
    """Speak, then raise."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        about = {"author": self.name, "invocation_id": ctx.invocation_id}
        yield Event(**about, content=types.ModelContent("so far"))
        raise RuntimeError("a secret path: /etc/example")


root_agent = Breaking(name="raising_agent")
