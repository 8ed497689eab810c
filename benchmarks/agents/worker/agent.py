"""An agent whose only tool works for `SECONDS`: `report` has it report 100 times a second, `silent` never."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import ToolContext
from google.genai import types

from adk_prism import report_progress

SECONDS = 3
A_SECOND = 100
"""Reports."""


async def work(how: str, tool_context: ToolContext) -> str:
    """Take a hundred steps a second."""
    for step in range(SECONDS * A_SECOND):
        if how == "report":
            report_progress(tool_context, step, SECONDS * A_SECOND, "Working")
        await asyncio.sleep(1 / A_SECOND)
    return "done"


class Caller(BaseLlm):
    """A model that calls the tool with the message as its argument, then says a word."""

    model: str = "caller"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call, or answer once the tool has."""
        del stream
        last = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if last.function_response is None:
            part = types.Part.from_function_call(name="work", args={"how": last.text or ""})
        else:
            part = types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = LlmAgent(name="worker", model=Caller(), tools=[work])
