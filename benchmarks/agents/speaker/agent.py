"""The scripted agent of all live benchmarks: it says N words, one delta each, when asked to.

`2000` says two thousand words; `2000 after 0.5` waits half a second first; `100 every 0.02` says fifty
words a second; `nothing` says nothing until it is stopped. The model is the least that ADK takes, so that
the Runner's own cost, the floor of every live run, is as low as it can be and what a server adds shows.
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
        count, how = _asked(llm_request)
        await asyncio.sleep(how.get("after", 0.0))
        loop = asyncio.get_running_loop()
        began, interval = loop.time(), how.get("every", 0.0)
        for number in range(count if stream else 0):
            # A chunk of a real model comes from a socket: the loop turns before each. A model's pace
            # does not depend on how fast its words are taken.
            await asyncio.sleep(max(0.0, began + number * interval - loop.time()))
            yield LlmResponse(content=_content(WORD), partial=True)
        yield LlmResponse(
            content=_content(WORD * count),
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=1, candidates_token_count=count, total_token_count=count + 1
            ),
        )


def _asked(request: LlmRequest) -> tuple[int, dict[str, float]]:
    parts = (request.contents[-1].parts if request.contents else None) or []
    words = "".join(part.text or "" for part in parts).split()
    if words[:1] == ["nothing"]:
        return 0, {"after": FOREVER}
    return int(words[0]), dict(zip(words[1::2], map(float, words[2::2]), strict=True))


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


root_agent = LlmAgent(name="speaker", model=Speaker())
