"""Voice activity detection for the scripted live model: from the first loud chunk of audio to a silence.

A client that signals where its speech starts and ends (push-to-talk) is believed instead.
"""

from __future__ import annotations

import re
from typing import Literal

from adk_prism.models.pcm import BYTES, HEARD_RATE, AudioMeter, is_loud

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

    @property
    def is_speaking(self) -> bool:
        """Whether somebody is speaking."""
        return self._utterance is not None

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
