"""Two agents, one in a tool of the other, with a model that needs no key: an app whose files tests change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


class Clerk(BaseLlm):
    """Calls each tool of an agent once, then says what came of it."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        """Answer a request."""
        del stream
        last = llm_request.contents[-1].parts or []
        answers = [part.function_response.response for part in last if part.function_response]
        parts = [types.Part(text=f"It says {answers[0]}.")] if answers else self._begin(llm_request)
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    def _begin(self, request: LlmRequest) -> list[types.Part]:
        last = request.contents[-1].parts or []
        name, text = next(iter(request.tools_dict)), last[0].text or ""
        args = {"request": text} if name == "pricer" else {"item": text}
        return [types.Part(function_call=types.FunctionCall(name=name, args=args))]


def price(item: str) -> dict[str, Any]:
    """Look up a price."""
    return {"price": len(item)}


pricer = LlmAgent(
    name="pricer",
    model=Clerk(model="clerk"),
    instruction="Name the price in euros, and nothing else.",
    tools=[price],
)

root_agent = LlmAgent(
    name="stand",
    model=Clerk(model="clerk"),
    instruction="Answer kindly.",
    tools=[AgentTool(pricer)],
)
