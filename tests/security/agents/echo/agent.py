"""Says what it is told; told to fail, it fails with a secret in its words."""

import os
from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types


class Echo(BaseAgent):
    """Needs no model."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        parts = (ctx.user_content.parts if ctx.user_content else None) or []
        text = "".join(part.text or "" for part in parts)
        if text == "fail":
            raise RuntimeError(f"401 for key {os.environ.get('SERVICE_API_KEY')}")
        content = types.Content(role="model", parts=[types.Part(text=text)])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


root_agent = Echo(name="echo")
