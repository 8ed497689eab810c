"""The agent of the live benchmarks: for each piece of sound that it hears it says one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection, RealtimeInput
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

PIECE = b"\1\0" * 480
"""20 ms of 24 kHz."""


class _Echo(BaseLlmConnection):
    def __init__(self) -> None:
        self._out: asyncio.Queue[LlmResponse | None] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        """It does not remember."""

    async def send_content(self, content: types.Content) -> None:
        """It does not read."""

    async def send_realtime(self, blob: RealtimeInput) -> None:
        if isinstance(blob, types.Blob):
            said = types.Blob(mime_type="audio/pcm;rate=24000", data=PIECE)
            content = types.Content(role="model", parts=[types.Part(inline_data=said)])
            self._out.put_nowait(LlmResponse(content=content))

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while (response := await self._out.get()) is not None:
            yield response
        self._out.put_nowait(None)

    async def close(self) -> None:
        self._out.put_nowait(None)


class EchoModel(BaseLlm):
    """A live model that answers sound with sound."""

    model: str = "echo"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise NotImplementedError(f"live only, not {llm_request.model} with stream={stream}")
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        del llm_request
        yield _Echo()


def echo_agent() -> LlmAgent:
    """Return an agent that echoes."""
    return LlmAgent(name="echo", model=EchoModel())


root_agent = echo_agent()
