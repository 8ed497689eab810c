"""The agent behind the Python servers whose output is kept here: a scripted model with four tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types

TOOLS = {"approval": "send_invoice", "long": "order_print", "client": "locate"}


def _said(**part: Any) -> types.Content:
    return types.Content(role="model", parts=[types.Part(**part)])


class Line(BaseLlmConnection):
    """A live connection that answers each message with the same words."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[types.Content] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        """Ignore what was said before."""

    async def send_content(self, content: types.Content, **_: Any) -> None:
        """Hear a message."""
        await self._heard.put(content)

    async def send_realtime(self, *_: Any, **__: Any) -> None:
        """Ignore sound."""

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Answer a message."""
        await self._heard.get()
        yield LlmResponse(content=_said(text="Rain in Rome."))
        yield LlmResponse(turn_complete=True)

    async def close(self) -> None:
        """Do nothing."""


class Scripted(BaseLlm):
    """Does what the last words of the user name."""

    model: str = "scripted"

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        """Begin a live conversation."""
        del llm_request
        yield Line()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call a tool, then speak; or fail."""
        parts = [part for content in llm_request.contents for part in content.parts or []]
        asked = next((part.text for part in reversed(parts) if part.text), "")
        answered = parts[-1].function_response is not None
        if asked == "fail":
            raise RuntimeError("The model is gone.")
        if not answered and not asked.startswith("text"):
            await asyncio.sleep(0.08)
            name = TOOLS.get(asked, "get_weather")
            call = types.FunctionCall(name=name, args={"city": "Rome"})
            yield LlmResponse(content=_said(function_call=call))
            return
        for piece in ("Rain ", "in ", "Rome.") if stream else ():
            await asyncio.sleep(0.12)
            yield LlmResponse(content=_said(text=piece), partial=True)
        if asked == "text then fail":
            raise RuntimeError("The model is gone.")
        yield LlmResponse(
            content=_said(text="Rain in Rome."), finish_reason=types.FinishReason.STOP
        )


async def get_weather(city: str, tool_context: ToolContext) -> dict[str, str]:
    """Return the weather."""
    tool_context.state["last_city"] = city
    await asyncio.sleep(0.2)
    return {"city": city, "sky": "rain"}


async def send_invoice(city: str) -> dict[str, bool]:
    """Send an invoice."""
    return {"sent": True}


async def order_print(city: str) -> dict[str, str]:
    """Order a print."""
    return {"ticket": "p-1", "status": "pending"}


async def locate(city: str) -> None:
    """Ask the person's device where it is; its answer comes later."""


root_agent = LlmAgent(
    name="scripted",
    description="Answers from a script.",
    model=Scripted(),
    instruction="Answer.",
    tools=[
        get_weather,
        FunctionTool(send_invoice, require_confirmation=True),
        LongRunningFunctionTool(order_print),
        LongRunningFunctionTool(locate),
    ],
)
