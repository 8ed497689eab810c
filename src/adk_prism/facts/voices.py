"""What was said aloud, written down: by the agent, and by the user.

A transcript arrives in pieces and then whole, beside the sound it belongs to. ADK sends sound and words
as separate events of one lane, so a transcript is kept apart from the lane's model call: no piece of
sound may end it. What the user was heard to say is no part of the assistant's message.
"""

from __future__ import annotations

from adk_prism.facts.adk_event import Transcription
from adk_prism.facts.lanes import Lane, ModelCall, lane_of
from adk_prism.facts.model import Fact, InputTranscribed, Speaker


class Voices:
    """The transcripts of one run."""

    def __init__(self) -> None:
        self._speaking: dict[Lane, ModelCall] = {}
        self._heard: tuple[str, list[str]] | None = None
        """The user's utterance that is being transcribed: its id, and its pieces."""

    def speak(
        self, cursor: int, said: Transcription, partial: bool, speaker: Speaker, out: list[Fact]
    ) -> None:
        """Take a piece of what the agent says, or all of it: then only what is new is shown."""
        text = said.text or ""
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is None:
            voice = self._speaking[lane] = ModelCall(f"call-{cursor}", speaker)
        if not partial:
            news = voice.remainder({"transcript": text}, out).of("transcript", text)
            if news:
                voice.say("transcript", news, "", (cursor, 0), out)
            self.hush(speaker, out)
        elif text:
            voice.stream("transcript", text, "", (cursor, 0), out)

    def hush(self, speaker: Speaker, out: list[Fact]) -> None:
        """End what a speaker says."""
        voice = self._speaking.pop(lane_of(speaker), None)
        if voice is not None:
            voice.end_block(out)

    def hear(self, cursor: int, said: Transcription, partial: bool, out: list[Fact]) -> None:
        """Take a piece of what the user says, or all of it."""
        if self._heard is None:
            self._heard = (f"input-{cursor}", [])
        utterance, pieces = self._heard
        if partial and not said.finished:
            pieces.append(said.text or "")
            out.append(InputTranscribed(utterance, "".join(pieces), False))
            return
        out.append(InputTranscribed(utterance, said.text or "".join(pieces), True))
        self._heard = None

    def close(self, out: list[Fact]) -> None:
        """End what is still open when the run is over."""
        for voice in self._speaking.values():
            voice.end_block(out)
        self._speaking.clear()
