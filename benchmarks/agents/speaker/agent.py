"""The scripted agent of all live benchmarks: it says N words, one delta each, when asked to.

`2000` says two thousand words; `2000 after 0.5` waits half a second first; `nothing` says nothing until
it is stopped. The model is the least that ADK takes, so that the Runner's own cost, the floor of every
live run, is as low as it can be and what a server adds shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

WORD = "translator "
FOREVER = 3600.0


class Speaker(BaseLlm):
    """A model that does what its last message asks for."""

    model: str = "speaker"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Stream the words, then the whole."""
        count, delay = _asked(llm_request)
        await asyncio.sleep(delay)
        for _ in range(count if stream else 0):
            # A chunk of a real model comes from a socket: the loop turns before each.
            await asyncio.sleep(0)
            yield LlmResponse(content=_content(WORD), partial=True)
        yield LlmResponse(
            content=_content(WORD * count),
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=1, candidates_token_count=count, total_token_count=count + 1
            ),
        )


def _asked(request: LlmRequest) -> tuple[int, float]:
    parts = (request.contents[-1].parts if request.contents else None) or []
    words = "".join(part.text or "" for part in parts).split()
    if words[:1] == ["nothing"]:
        return 0, FOREVER
    return int(words[0]), float(words[2]) if len(words) > 2 else 0.0


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


root_agent = LlmAgent(name="speaker", model=Speaker())
