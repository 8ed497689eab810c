"""Voice activity detection for the scripted live model: from the first loud chunk of audio to a silence.

A client that signals where its speech starts and ends (push-to-talk) is believed instead.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from functools import cache
from typing import Literal

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
        "h",
        (round(_AMPLITUDE * math.sin(2 * math.pi * pitch * i / rate)) for i in range(count)),
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
