"""What was said aloud, written down: by the agent, and by the user.

A transcript arrives in pieces and then whole, beside the sound it belongs to. ADK sends sound and words
as separate events of one lane, so a transcript is kept apart from the lane's model call: no piece of
sound may end it. The whole covers all pieces since the last whole, also across a call, at which the block
that is shown ends. What the user was heard to say is no part of the assistant's message.

In a live run ADK cuts what the user says in two when it begins before the agent's turn is over. There an
utterance stays open until the turn that answers it begins, and is all that was heard until then.
"""

from __future__ import annotations

from adk_prism.facts.adk_event import Transcription
from adk_prism.facts.lanes import Lane, ModelCall, lane_of
from adk_prism.facts.model import Fact, InputTranscribed, Speaker


class _Utterance:
    """What the user is saying."""

    __slots__ = ("name", "pieces", "whole")

    def __init__(self, name: str) -> None:
        self.name = name
        self.whole: list[str] = []
        """What was told whole, sentence by sentence."""
        self.pieces: list[str] = []
        """What came since."""

    def text(self) -> str:
        return "".join((*self.whole, *self.pieces))


class Voices:
    """The transcripts of one run."""

    def __init__(self) -> None:
        self._speaking: dict[Lane, ModelCall] = {}
        self._paused: set[Lane] = set()
        """Voices whose block a call has ended."""
        self._heard: _Utterance | None = None
        self.joins = False
        """An utterance lasts until it is answered, as in a live run."""

    def speak(
        self, cursor: int, said: Transcription, partial: bool, speaker: Speaker, out: list[Fact]
    ) -> None:
        """Take a piece of what the agent says, or all of it: then only what is new is shown."""
        text = said.text or ""
        voice = self._voice(cursor, speaker)
        if not partial:
            news = voice.remainder({"transcript": text}, out).of("transcript", text)
            if news:
                voice.say("transcript", news, "", (cursor, 0), out)
            self.hush(speaker, out)
        elif text:
            voice.stream("transcript", text, "", (cursor, 0), out)

    def _voice(self, cursor: int, speaker: Speaker) -> ModelCall:
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is None:
            voice = self._speaking[lane] = ModelCall(f"call-{cursor}", speaker)
        elif lane in self._paused:
            voice = self._speaking[lane] = voice.successor(f"call-{cursor}")
        self._paused.discard(lane)
        return voice

    def pause(self, speaker: Speaker, out: list[Fact]) -> None:
        """End the block that a speaker's words are in; what was said stays said."""
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is not None:
            voice.end_block(out)
            self._paused.add(lane)

    def hush(self, speaker: Speaker, out: list[Fact]) -> None:
        """End what a speaker says."""
        lane = lane_of(speaker)
        self._paused.discard(lane)
        voice = self._speaking.pop(lane, None)
        if voice is not None:
            voice.end_block(out)

    def hear(self, cursor: int, said: Transcription, partial: bool, out: list[Fact]) -> None:
        """Take a piece of what the user says, or all of it."""
        heard = self._heard
        if heard is None:
            heard = self._heard = _Utterance(f"input-{cursor}")
        if partial and not said.finished:
            heard.pieces.append(said.text or "")
            out.append(InputTranscribed(heard.name, heard.text(), False))
            return
        heard.whole.append(said.text or "".join(heard.pieces))
        heard.pieces.clear()
        out.append(InputTranscribed(heard.name, heard.text(), True))
        if not self.joins:
            self._heard = None

    def answer(self) -> None:
        """Note that the agent begins to answer: what is heard from now on is another utterance."""
        self._heard = None

    def close(self, out: list[Fact]) -> None:
        """End what is still open when the run is over."""
        for voice in self._speaking.values():
            voice.end_block(out)
        self._speaking.clear()
        self._paused.clear()
