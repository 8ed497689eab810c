"""A shop: its clerk says the price in the currency that its instruction names."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

CURRENCY = "euros"


class Obedient(BaseLlm):
    """A model without a network: it does what its instruction says."""

    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Hand over to the clerk, or look up the price and say it."""
        del stream
        part = _next(str(llm_request.config.system_instruction), llm_request.contents[-1])
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def _next(instruction: str, last: types.Content) -> types.Part:
    answers = [part.function_response for part in last.parts or [] if part.function_response]
    if "Hand over" in instruction:
        return types.Part.from_function_call(name="transfer_to_agent", args={"agent_name": "clerk"})
    if not answers or answers[0].name != "price":
        currency = instruction.partition("Ask for prices in ")[2].partition(".")[0]
        return types.Part.from_function_call(name="price", args={"currency": currency})
    return types.Part.from_text(text=f"The lamp costs {(answers[0].response or {})['price']}.")


def price(currency: str) -> dict[str, str]:
    """Look up the price of the lamp."""
    prices = {"euros": "twelve euros and fifty cents", "dollars": "13.90 US$ without tax"}
    return {"price": prices[currency]}


clerk = LlmAgent(
    name="clerk",
    model=Obedient(),
    instruction=f"Ask for prices in {CURRENCY}.",
    tools=[price],
)
root_agent = LlmAgent(
    name="shop", model=Obedient(), instruction="Hand over to the clerk.", sub_agents=[clerk]
)
