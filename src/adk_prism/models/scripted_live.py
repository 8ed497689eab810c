"""A live connection of the scripted model: it speaks the same scripts.

Text of a script becomes audio, a tone for each word, and a transcript; with the text modality it stays
text. The model does not understand speech: an utterance becomes a prompt that says how long it was and at
what pitch (`voice: 1.2 seconds of sound near 440 Hz`), which a script may answer like any other.

It behaves as Gemini's live connection does (google-adk 2.13, `models/gemini_llm_connection.py`): pieces and
then the whole, transcripts that are marked as finished, `turnComplete` after each turn. Speech, the start
of an activity and content of any kind interrupt it. After a call it waits for the responses to all calls of
the turn.

An utterance lasts from the first loud chunk of audio to a silence. A client that signals where its speech
starts and ends (push-to-talk) is believed instead.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Literal, assert_never

from google.adk.models.base_llm_connection import BaseLlmConnection, RealtimeInput
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.platform.uuid import new_uuid
from google.genai import types

from adk_prism.models.script import Call, Fail, Pause, Say, Show, Step, Think, Turn, Usage, words_of

WORD = 80
"""Milliseconds of audio for each word."""

PITCHES = (262, 294, 330, 392, 440)
"""Used in turn for the words."""

Script = Callable[[LlmRequest], Turn]

Count = Callable[[LlmRequest, Turn], Usage]

Beat = LlmResponse | Pause | Fail


class ScriptedConnection(BaseLlmConnection):
    """Plays a script to one live connection."""

    def __init__(self, script: Script, request: LlmRequest, delay: float, count: Count) -> None:
        self._script = script
        self._request = request
        self._delay = delay
        self._count = count
        self._contents: list[types.Content] = []
        self._out: asyncio.Queue[LlmResponse | Exception | None] = asyncio.Queue()
        self._playing: asyncio.Task[None] | None = None
        self._unanswered: set[str] = set()
        self._voice_activity = VoiceActivityDetector()

    # ------------------------------------------------------------------ from the client

    async def send_history(self, history: list[types.Content]) -> None:
        """Take the history; answer it if its last message is the user's."""
        self._contents = list(history)
        if history and history[-1].role == "user":
            self._answer()

    async def send_content(self, content: types.Content) -> None:
        """Take a message, or function responses."""
        await self._send_content(content)

    async def _send_content(self, content: types.Content, *, partial: bool = False) -> None:
        parts = content.parts or []
        answers = [part.function_response for part in parts if part.function_response]
        if answers:
            self._contents.append(types.Content(role="user", parts=parts))
            self._unanswered -= {answer.id or "" for answer in answers}
            if not self._unanswered and not self._is_playing:
                self._answer()
            return
        self._interrupt()
        if not partial:
            self._contents.append(content)
            self._answer()

    async def send_realtime(self, blob: RealtimeInput) -> None:
        """Take audio, or a signal of where speech starts and ends."""
        match blob:
            case types.Blob():
                activity = self._voice_activity.hear(blob.data or b"", blob.mime_type or "")
            case types.ActivityStart():
                self._interrupt()
                activity = self._voice_activity.begin() if self._is_manual else "nothing"
            case types.ActivityEnd() | types.LiveClientRealtimeInput():
                activity = self._voice_activity.finish()
            case _:
                assert_never(blob)
        if activity == "began":
            self._interrupt()
            self._put(_activity(types.VoiceActivityType.ACTIVITY_START))
        elif activity == "ended":
            self._put(_activity(types.VoiceActivityType.ACTIVITY_END))
            self._transcribe(self._voice_activity.words())

    def _transcribe(self, words: str) -> None:
        if self._config.input_audio_transcription is not None:
            for piece in words_of(words):
                heard = types.Transcription(text=piece, finished=False)
                self._put(LlmResponse(input_transcription=heard, partial=True))
            whole = types.Transcription(text=words, finished=True)
            self._put(LlmResponse(input_transcription=whole, partial=False))
        self._contents.append(types.UserContent(words))
        self._answer()

    # ------------------------------------------------------------------ to the client

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield responses until the turn is complete; none once it is closed."""
        while True:
            item = await self._out.get()
            if item is None:
                self._out.put_nowait(None)  # for the next call of receive
                return
            if isinstance(item, Exception):
                raise item
            yield item
            if item.turn_complete:
                return

    async def close(self) -> None:
        """End the connection."""
        self._stop()
        self._out.put_nowait(None)

    # ------------------------------------------------------------------ speaking

    @property
    def _config(self) -> types.LiveConnectConfig:
        return self._request.live_connect_config

    @property
    def _is_manual(self) -> bool:
        """Whether the client signals when a person speaks."""
        config = self._config.realtime_input_config
        detection = config.automatic_activity_detection if config is not None else None
        return detection is not None and bool(detection.disabled)

    @property
    def _is_playing(self) -> bool:
        return self._playing is not None and not self._playing.done()

    def _put(self, response: LlmResponse) -> None:
        self._out.put_nowait(response)

    def _stop(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None

    def _interrupt(self) -> None:
        """Stop speaking, as an interrupted model does."""
        if self._is_playing:
            self._stop()
            self._put(LlmResponse(interrupted=True))
            self._put(LlmResponse(turn_complete=True))

    def _answer(self) -> None:
        self._stop()
        self._playing = asyncio.create_task(self._play())

    async def _play(self) -> None:
        try:
            turn = await self._play_turn()
            while turn is not None and any(isinstance(step, Call) for step in turn.steps):
                turn = await self._play_turn()
        except Exception as error:  # raised in `receive`
            self._out.put_nowait(error)
            return
        if turn is not None:
            self._contents.append(types.ModelContent(_said(turn) or " "))
            self._put(LlmResponse(turn_complete=True, grounding_metadata=turn.grounding))

    async def _play_turn(self) -> Turn | None:
        """Play one turn of the script and return it; None if calls of it are unanswered."""
        request = self._request.model_copy(update={"contents": list(self._contents)})
        turn = self._script(request)
        called: set[str] = set()
        async for response in self._paced(turn):
            if calls := _calls_in(response):
                assert response.content is not None
                self._contents.append(response.content)
                called |= set(calls)
                self._unanswered |= called
            self._put(response)
        self._put(LlmResponse(usage_metadata=turn.usage or self._count(request, turn)))
        return None if called & self._unanswered else turn

    async def _paced(self, turn: Turn) -> AsyncIterator[LlmResponse]:
        for beat in self._beats(turn):
            if isinstance(beat, Fail):
                raise beat.error
            await asyncio.sleep(beat.seconds if isinstance(beat, Pause) else self._delay)
            if isinstance(beat, LlmResponse):
                yield beat

    def _beats(self, turn: Turn) -> Iterator[Beat]:
        speaks = types.Modality.TEXT not in (self._config.response_modalities or [])
        voice = _Voice(bool(speaks and self._config.output_audio_transcription))
        for is_call, steps in groupby(turn.steps, lambda step: isinstance(step, Call)):
            if is_call:
                yield from voice.whole()
                yield _called([step for step in steps if isinstance(step, Call)])
            else:
                for step in steps:
                    yield from voice.speak(step) if speaks else _written(step)
        yield from voice.whole()


class _Voice:
    """Turns steps into audio, and into transcripts of it."""

    def __init__(self, is_transcribed: bool) -> None:
        self._is_transcribed = is_transcribed
        self._said: list[str] = []
        self._words = 0

    def speak(self, step: Step) -> Iterator[Beat]:
        if not isinstance(step, Say):
            yield from _written(step)
            return
        for word in words_of(step.text):
            self._words += 1
            if self._is_transcribed:
                self._said.append(word)
                heard = types.Transcription(text=word, finished=False)
                yield LlmResponse(output_transcription=heard, partial=True)
            yield sound(tone(PITCHES[self._words % len(PITCHES)], WORD))

    def whole(self) -> Iterator[Beat]:
        """Yield the whole transcript since the last time."""
        if self._said:
            heard = types.Transcription(text="".join(self._said), finished=True)
            self._said.clear()
            yield LlmResponse(output_transcription=heard, partial=False)


def sound(pcm: bytes) -> LlmResponse:
    """Return a chunk of audio as Gemini sends it."""
    blob = types.Blob(mime_type=f"audio/pcm;rate={SPOKEN_RATE}", data=pcm)
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(inline_data=blob)]))


def _written(step: Step) -> Iterator[Beat]:
    match step:
        case Say(text):
            yield from _texts(text, None)
        case Think(text):
            yield from _texts(text, True)
        case Show(part):
            shown = types.Content(role="model", parts=[part.model_copy(deep=True)])
            yield LlmResponse(content=shown)
        case Pause() | Fail():
            yield step
        case Call():
            yield _called([step])
        case _:
            assert_never(step)


def _texts(text: str, thought: bool | None) -> Iterator[LlmResponse]:
    """Yield a text in pieces, and then whole with `interrupted=False`, as Gemini does."""

    def content(piece: str) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text=piece, thought=thought)])

    for word in words_of(text):
        yield LlmResponse(content=content(word), partial=True)
    yield LlmResponse(content=content(text), partial=False, interrupted=False)


def _called(calls: list[Call]) -> LlmResponse:
    parts = [
        types.Part(
            function_call=types.FunctionCall(
                id=call.id or f"live-{new_uuid()}", name=call.name, args=dict(call.args)
            )
        )
        for call in calls
    ]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def _calls_in(response: LlmResponse) -> list[str]:
    parts = (response.content.parts if response.content is not None else None) or []
    return [part.function_call.id or "" for part in parts if part.function_call]


def _said(turn: Turn) -> str:
    return "".join(step.text for step in turn.steps if isinstance(step, Say))


def _activity(kind: types.VoiceActivityType) -> LlmResponse:
    return LlmResponse(voice_activity=types.VoiceActivity(voice_activity_type=kind))


SPOKEN_RATE = 24_000
"""Samples a second of the model's audio, like Gemini's."""

HEARD_RATE = 16_000
"""Samples a second of the user's audio, where the media type does not say."""

BYTES = 2

LOUD = 500
"""Mean amplitude from which a chunk counts as loud: a quiet room is below 100 of 32,767."""

_AMPLITUDE = 8_000


@cache
def tone(pitch: int, milliseconds: int, rate: int = SPOKEN_RATE) -> bytes:
    """Return a sine tone, little-endian."""
    count = rate * milliseconds // 1000
    samples = array(
        "h", (round(_AMPLITUDE * math.sin(2 * math.pi * pitch * i / rate)) for i in range(count))
    )
    return _little(samples).tobytes()


def _little(samples: array[int]) -> array[int]:
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


class AudioMeter:
    """Measures duration and pitch of one utterance."""

    def __init__(self, rate: int = HEARD_RATE) -> None:
        self._rate = rate
        self._samples = 0
        self._crossings = 0
        self._last = 0

    def take(self, pcm: bytes) -> bool:
        """Take a chunk; return whether it is loud."""
        samples = _little(array("h", pcm[: len(pcm) // BYTES * BYTES]))
        self._samples += len(samples)
        for sample in samples:
            if (sample >= 0) != (self._last >= 0):
                self._crossings += 1
            self._last = sample
        return is_loud(pcm)

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self._samples / self._rate

    @property
    def pitch(self) -> int:
        """Its pitch to ten hertz: half the zero crossings in a second."""
        return round(self._crossings / 2 / self.seconds / 10) * 10 if self._samples else 0


def is_loud(pcm: bytes) -> bool:
    """Return whether a chunk is louder than the noise of a room."""
    samples = _little(array("h", pcm[: len(pcm) // BYTES * BYTES]))
    return bool(samples) and sum(map(abs, samples)) / len(samples) >= LOUD


SILENCE = 0.5
"""Seconds of silence that end an utterance: Gemini's detector waits about as long."""

Activity = Literal["nothing", "began", "ended"]

_RATE = re.compile(r"rate=(\d{4,6})")


class VoiceActivityDetector:
    """The detector of one live connection."""

    def __init__(self) -> None:
        self._utterance: AudioMeter | None = None
        self._quiet = 0.0
        self._is_manual = False
        """The client signals where its speech ends."""
        self.last = AudioMeter()
        """The last utterance."""

    def hear(self, pcm: bytes, media_type: str) -> Activity:
        """Take a chunk of audio."""
        found = _RATE.search(media_type)
        rate = int(found[1]) if found else HEARD_RATE
        if self._utterance is None:
            if not is_loud(pcm):
                return "nothing"
            self._utterance = AudioMeter(rate)
            self._utterance.take(pcm)
            return "began"
        if self._utterance.take(pcm):
            self._quiet = 0.0
            return "nothing"
        self._quiet += len(pcm) / BYTES / rate
        if self._quiet < SILENCE or self._is_manual:
            return "nothing"
        return self.finish()

    def begin(self) -> Activity:
        """The client signals that a person starts to speak."""
        self._is_manual = True
        if self._utterance is not None:
            return "nothing"
        self._utterance = AudioMeter()
        return "began"

    def finish(self) -> Activity:
        """The client signals that the speech, or the audio, has ended."""
        self._is_manual, self._quiet = False, 0.0
        if self._utterance is None:
            return "nothing"
        self.last, self._utterance = self._utterance, None
        return "ended"

    def words(self) -> str:
        """Describe the last utterance: this is all that can be known of it."""
        return f"voice: {self.last.seconds:.1f} seconds of sound near {self.last.pitch} Hz"
