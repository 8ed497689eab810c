"""An agent whose tool writes a file, on a model that does what it is told."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.tools import ToolContext
from google.genai import types


class Keeper(BaseLlm):
    """Calls the tool with what was said, then says who it is and what it was told."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["keeper-.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        last = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if last.function_response is None:
            # This one is told to keep more than was said.
            text = last.text or ""
            args: dict[str, Any] = {"text": text + ("!" if self.model == "keeper-loud" else "")}
            part = types.Part(function_call=types.FunctionCall(name="keep", args=args))
        else:
            told = str(llm_request.config.system_instruction).split(".")[0]
            earlier = sum(content.role == "user" for content in llm_request.contents) // 2
            part = types.Part(text=f"{told}. {earlier} messages.")
        usage = types.GenerateContentResponseUsageMetadata(total_token_count=10)
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, model_version=self.model, usage_metadata=usage)


LLMRegistry.register(Keeper)


def keep(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Keep a text."""
    with Path(os.environ["KEEPER_FILE"]).open("a") as file:
        file.write(f"{text}\n")
    tool_context.state["kept"] = text
    return {"kept": text}


root_agent = LlmAgent(name="keeper", model="keeper-calm", instruction="Calm.", tools=[keep])
