"""Raw audio, 16 bits and one channel: tones, and measurements of loudness, duration and pitch.

A scripted model does not understand speech. These measurements are enough to detect speech,
and to describe it.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import cache

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
