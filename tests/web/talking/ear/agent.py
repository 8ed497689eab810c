"""An agent that speaks, waits, and proves what it heard: asked for the digest, it gives that of the sound."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm_connection import BaseLlmConnection, RealtimeInput
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

from adk_prism import client_tool
from adk_prism.models import Call, Pause, Say, ScriptedModel, Show, Turn, read_conversation, say
from adk_prism.models.scripted_live import SPOKEN_RATE, tone

BEAT = 0.01
"""Seconds between two pieces: a long speech lasts long enough to be interrupted."""


HUM = 60
"""Seconds of a sound that comes in one piece: it is still heard when what follows it has arrived."""


class _Heard:
    """The sound of the last connection."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.count, self.digest = 0, hashlib.sha256()

    def take(self, sound: bytes) -> None:
        self.count += len(sound)
        self.digest.update(sound)

    def __str__(self) -> str:
        return f"{self.count} bytes, sha256 {self.digest.hexdigest()}."


HEARD = _Heard()


class _Listening(BaseLlmConnection):
    """Notes the sound that reaches the model, and hands everything on."""

    def __init__(self, inner: BaseLlmConnection) -> None:
        self._inner = inner

    async def send_history(self, history: list[types.Content]) -> None:
        await self._inner.send_history(history)

    async def send_content(self, content: types.Content) -> None:
        await self._inner.send_content(content)

    async def _send_content(self, content: types.Content, *, partial: bool = False) -> None:
        await self._inner._send_content(content, partial=partial)

    async def send_realtime(self, blob: RealtimeInput) -> None:
        if isinstance(blob, types.Blob):
            HEARD.take(blob.data or b"")
        await self._inner.send_realtime(blob)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        async for response in self._inner.receive():
            yield response

    async def close(self) -> None:
        await self._inner.close()


class _ListeningModel(ScriptedModel):
    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        HEARD.begin()
        async with super().connect(llm_request) as inner:
            yield _Listening(inner)


def pay(amount: int) -> dict[str, Any]:
    """Pay money."""
    return {"paid": amount}


def _hum() -> Show:
    blob = types.Blob(mime_type=f"audio/pcm;rate={SPOKEN_RATE}", data=tone(440, 1000) * HUM)
    return Show(types.Part(inline_data=blob))


def _script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    prompt = conversation.prompt
    if conversation.answers:
        return say("; ".join(f"{a.name} {dict(a.response)}" for a in conversation.answers))
    if prompt == "digest":
        return say(str(HEARD))
    if prompt.startswith("speech "):
        return say(" ".join(f"word{n}" for n in range(int(prompt.split()[1]))))
    if prompt == "ponder":
        return Turn((Pause(3600), Say("At last.")))
    if prompt == "pay twice":
        calls = (Call("pay", {"amount": 1}), Call("pay", {"amount": 2}))
        return Turn((Say("Let me see."), _hum(), *calls))
    if prompt == "place":
        return Turn((Say("Where are you? "), Call("get_location", {"accuracy": "city"})))
    return say(f"You said: {prompt}")


root_agent = LlmAgent(
    name="ear",
    description="Speaks, and proves what it heard.",
    model=_ListeningModel(model="ear-offline", script=_script, delay=BEAT),
    tools=[
        FunctionTool(pay, require_confirmation=True),
        client_tool("get_location", "Where the device is."),
    ],
)
