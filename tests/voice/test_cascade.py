"""ADK's `CascadeLive`: speech recognition, a text model and speech, served as a live model is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
from google.adk.agents import LlmAgent
from google.adk.live import (
    AgentSpokenOutput,
    AudioChunk,
    CascadeLive,
    EgressEvent,
    IngressEvent,
    LiveEgress,
    LiveIngress,
    PartialTranscript,
    UserSpeechStarted,
    UserTurnFinished,
)
from google.genai import types
from tests.voice.live_run import runner_of
from tests.voice.served import served

from adk_prism.models import ScriptedModel
from adk_prism.models.script import say

pytestmark = pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.")

HYPOTHESES = ("whether in", "weather in Rome", "weather in roam to")
SAID = "Weather in Rome today?"


class Hearing(LiveIngress):
    """Recognizes the same sentence in any sound, and corrects itself."""

    async def __call__(
        self, audio: AsyncIterator[types.Blob]
    ) -> AsyncGenerator[IngressEvent, None]:
        await anext(audio)
        yield UserSpeechStarted()
        for text in HYPOTHESES:
            yield PartialTranscript(text=text)
        yield UserTurnFinished(text=SAID)
        async for _ in audio:
            pass


class Speech(LiveEgress):
    """Speaks each piece of text as a tenth of a second of sound."""

    async def __call__(
        self, text: AsyncIterator[str], *, cancel: asyncio.Event
    ) -> AsyncGenerator[EgressEvent, None]:
        async for piece in text:
            if cancel.is_set():
                return
            yield AudioChunk(blob=types.Blob(data=b"\1\0" * 2400, mime_type="audio/pcm;rate=24000"))
            yield AgentSpokenOutput(text=piece)


async def test_what_is_said_is_heard_once() -> None:
    """The hypotheses of one sentence are one utterance; the answer has its words and its sound."""
    text_model = ScriptedModel(script=lambda _: say("It is sunny."))
    model = CascadeLive(model=text_model, stt=Hearing(), tts=Speech())
    runner = runner_of(LlmAgent(name="voice", model=model))
    async with served(runner) as server, server.live("session=s1&audio=binary") as client:
        await client.send("audio_control", action="start")
        await client.connection.send(b"\1\1" * 320)
        await client.until_chunk("finish")
        heard = [part["data"] for part in client.chunks("data-input-transcription")]
        assert [part["text"] for part in heard] == [*HYPOTHESES, SAID]
        assert [part["final"] for part in heard] == [False, False, False, True]
        assert client.text.strip() == "It is sunny."
        assert client.sound
