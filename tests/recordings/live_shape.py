"""One live run: a turn of text, one with a tool, and one of audio that is interrupted.

The scripted connection answers each message with the next turn; the driver speaks again when a
turn is complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.app_runner import SESSION, USER, AppRun, AppRunner
from tests.recordings.shapes import Takes, app_of

_PROMPTS = ("hello", "what time is it", "tell me a story")


def _said(text: str, partial: bool = False) -> LlmResponse:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    # The real connection says of a whole text that it was not interrupted.
    interrupted = None if partial else False
    return LlmResponse(content=content, partial=partial, interrupted=interrupted)


def _heard(text: str, finished: bool) -> LlmResponse:
    words = types.Transcription(text=text, finished=finished)
    return LlmResponse(output_transcription=words, partial=not finished)


def _turns() -> Iterator[list[LlmResponse]]:
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=5)
    over = LlmResponse(turn_complete=True)
    yield [
        _said("Hel", True),
        _said("lo", True),
        _said("Hello"),
        LlmResponse(usage_metadata=usage),
        over,
    ]
    call = types.FunctionCall(id="live-1", name="clock", args={})
    yield [LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))]
    yield [_said("Noon", True), _said("Noon"), over]
    sound = types.Blob(mime_type="audio/pcm;rate=24000", data=b"\x00\x01" * 240)
    audio = types.Content(role="model", parts=[types.Part(inline_data=sound)])
    yield [
        _heard("Once ", False),
        LlmResponse(content=audio),
        _heard("upon a", False),
        _heard("Once upon a", True),
        LlmResponse(interrupted=True),
        over,
    ]


class _Connection(BaseLlmConnection):
    def __init__(self) -> None:
        self._turns = _turns()
        self._queue: asyncio.Queue[LlmResponse | None] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        """There is none."""

    async def send_content(self, content: types.Content) -> None:  # noqa: ARG002 - any will do
        for response in next(self._turns):
            self._queue.put_nowait(response)

    async def send_realtime(self, blob: object) -> None:
        """Nobody speaks here."""

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while (response := await self._queue.get()) is not None:
            yield response
            if response.turn_complete:
                return

    async def close(self) -> None:
        self._queue.put_nowait(None)


class _LiveModel(BaseLlm):
    model: str = "scripted-live"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise NotImplementedError(f"live only, not {llm_request.model} with stream={stream}")
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, _: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        yield _Connection()


def clock() -> dict[str, str]:
    """Tell the time."""
    return {"time": "12:00"}


async def live() -> Takes:
    """Play three turns of one live run."""
    stage = AppRunner(app_of(LlmAgent(name="voice", model=_LiveModel(), tools=[clock])))
    requests = LiveRequestQueue()
    prompts = iter(_PROMPTS)
    take = AppRun()
    requests.send_content(types.UserContent(next(prompts)))
    async for event in stage.runner.run_live(
        user_id=USER,
        session_id=SESSION,
        live_request_queue=requests,
        run_config=RunConfig(streaming_mode=StreamingMode.BIDI),
    ):
        take.add(event)
        if event.turn_complete:
            prompt = next(prompts, None)
            if prompt is None:
                requests.close()
            else:
                requests.send_content(types.UserContent(prompt))
    return {"": take}
