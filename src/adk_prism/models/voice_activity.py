"""When somebody speaks to a scripted live model: from the first loud piece of sound to a silence.

By itself it finds the ends as a voice detector does; a client that says where its speech begins and ends
(push-to-talk) is believed instead.
"""

from __future__ import annotations

import re
from typing import Literal

from adk_prism.models.pcm import BYTES, HEARD_RATE, AudioMeter, is_loud

SILENCE = 0.5
"""Seconds of quiet that end what is said: Gemini's detector waits about as long."""

Activity = Literal["nothing", "began", "ended"]

_RATE = re.compile(r"rate=(\d{4,6})")


class VoiceActivityDetector:
    """Listens to one live connection."""

    def __init__(self) -> None:
        self._hearing: AudioMeter | None = None
        self._quiet = 0.0
        self._is_told = False
        """The client says where its speech ends."""
        self.last = AudioMeter()
        """What was heard last, to its end."""

    @property
    def is_hearing(self) -> bool:
        """Whether somebody speaks."""
        return self._hearing is not None

    def hear(self, pcm: bytes, media_type: str) -> Activity:
        """Take a piece of sound."""
        found = _RATE.search(media_type)
        rate = int(found[1]) if found else HEARD_RATE
        if self._hearing is None:
            if not is_loud(pcm):
                return "nothing"
            self._hearing = AudioMeter(rate)
            self._hearing.take(pcm)
            return "began"
        if self._hearing.take(pcm):
            self._quiet = 0.0
            return "nothing"
        self._quiet += len(pcm) / BYTES / rate
        if self._quiet < SILENCE or self._is_told:
            return "nothing"
        return self.finish()

    def begin(self) -> Activity:
        """The client says that somebody begins to speak."""
        self._is_told = True
        if self._hearing is not None:
            return "nothing"
        self._hearing = AudioMeter()
        return "began"

    def finish(self) -> Activity:
        """The client says that the speech, or the sound altogether, is over."""
        self._is_told, self._quiet = False, 0.0
        if self._hearing is None:
            return "nothing"
        self.last, self._hearing = self._hearing, None
        return "ended"

    def words(self) -> str:
        """Return what was heard last, in words: all that can be known of it."""
        return f"voice: {self.last.seconds:.1f} seconds of sound near {self.last.pitch} Hz"
