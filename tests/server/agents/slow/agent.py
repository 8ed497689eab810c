"""An app that speaks at once and then takes its time."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types


class Slow(BaseAgent):
    """Says a word, and another one a minute later, or when there is a file `go` in the working folder."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for word in ("one", "two"):
            content = types.Content(role="model", parts=[types.Part(text=word)])
            yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)
            for _ in range(600):
                if Path("go").exists():
                    break
                await asyncio.sleep(0.1)


root_agent = Slow(name="slow")
