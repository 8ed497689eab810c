"""An app that answers with what no other process would say."""

import os
from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types


class Personal(BaseAgent):
    """Say which process this is."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        content = types.ModelContent(f"process {os.getpid()}")
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


root_agent = Personal(name="never_the_same")
