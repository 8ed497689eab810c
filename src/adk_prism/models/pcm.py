"""Raw sound, 16 bits and one channel: tones, and what can be told of a sound without understanding it.

A model that plays a script has no ears. It hears how loud something is, how long it lasts and about how
high it is, which is enough to notice that somebody speaks, and to give the same sound back.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import cache

SPOKEN_RATE = 24_000
"""Samples a second of what a live model says, as Gemini's."""
HEARD_RATE = 16_000
"""Of what it is told, where the media type does not say."""
BYTES = 2

LOUD = 500
"""Mean amplitude from which a piece counts as sound: a quiet room is below 100 of 32,767."""

_AMPLITUDE = 8_000


@cache
def tone(pitch: int, milliseconds: int, rate: int = SPOKEN_RATE) -> bytes:
    """Return a sine tone, least significant byte first."""
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
    """One stretch of sound: how long it was, and how high."""

    def __init__(self, rate: int = HEARD_RATE) -> None:
        self._rate = rate
        self._samples = 0
        self._crossings = 0
        self._last = 0

    def take(self, pcm: bytes) -> bool:
        """Take a piece; tell whether it is loud."""
        samples = _little(array("h", pcm[: len(pcm) // BYTES * BYTES]))
        self._samples += len(samples)
        for sample in samples:
            if (sample >= 0) != (self._last >= 0):
                self._crossings += 1
            self._last = sample
        return is_loud(pcm)

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self._samples / self._rate

    @property
    def pitch(self) -> int:
        """How high it was, to ten hertz: half the times the wave crossed zero in a second."""
        return round(self._crossings / 2 / self.seconds / 10) * 10 if self._samples else 0


def is_loud(pcm: bytes) -> bool:
    """Tell whether a piece of sound is more than a room's own noise."""
    samples = _little(array("h", pcm[: len(pcm) // BYTES * BYTES]))
    return bool(samples) and sum(map(abs, samples)) / len(samples) >= LOUD
