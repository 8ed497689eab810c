"""A scripted agent that calls a tool once, and then says what it has got."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

WORDS = 10


def look_up(place: str) -> dict[str, str]:
    """Return the weather of a place."""
    return {"place": place, "weather": "sunny"}


class Caller(BaseLlm):
    """A model that wants the weather first."""

    model: str = "caller"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the tool, or stream the words and then the whole."""
        last = llm_request.contents[-1].parts or []
        if not any(part.function_response for part in last):
            call = types.Part.from_function_call(name="look_up", args={"place": "Oslo"})
            yield LlmResponse(content=types.Content(role="model", parts=[call]))
            return
        for _ in range(WORDS if stream else 0):
            yield LlmResponse(content=_content("sunny "), partial=True)
        reason = types.FinishReason.STOP
        yield LlmResponse(content=_content("sunny " * WORDS), partial=False, finish_reason=reason)


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


root_agent = LlmAgent(name="caller", model=Caller(), tools=[look_up])
