"""What was said aloud, written down: by the agent, and by the user.

A transcript arrives in pieces beside the sound it belongs to. ADK sends sound and words as separate events
of one lane, so a transcript is kept apart from the lane's model call: no piece of sound may end it. What the
user was heard to say is no part of the assistant's message.

Writers mark pieces in different ways, and all of these are one transcript:
- google-adk 2.13: pieces (`partial: true`, `finished: false`), then the whole (`partial: false`,
  `finished: true`), also across a call, at which the block that is shown ends;
- google-adk 1.x: pieces without `partial`, the last one with `finished: true`, or with no text at all;
- Gemini 3.x live: one final transcript and no pieces;
- ADK's cascaded live connection: each piece is the whole hypothesis so far, in place of the one before.
So `finished` decides where it is written, then an explicit `partial: false`; what has neither is a piece. The
final text is compared with the pieces: if it begins with them it is the whole, else it is the last piece.

In a live run ADK cuts what the user says in two when it begins before the agent's turn is over. There an
utterance stays open until the turn that answers it begins, and is all that was heard until then. Where the
model does not mark the end, ADK sends the whole only after the answer has begun: it is still that utterance.
"""

from __future__ import annotations

from collections.abc import Iterator

from adk_prism.facts.adk_event import Transcription
from adk_prism.facts.agent_text import AgentText
from adk_prism.facts.model import Fact, InputTranscribed, Speaker
from adk_prism.facts.model_call import Lane, ModelCall, lane_of


class _Heard:
    """What the user is saying."""

    __slots__ = ("_is_replaced", "_pieces", "_whole", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._whole: list[str] = []
        """What is complete, sentence by sentence."""
        self._pieces: list[str] = []
        """What came since."""
        self._is_replaced = True
        """Each piece so far contains the one before it, and replaces it."""

    @property
    def is_open(self) -> bool:
        return bool(self._pieces)

    def add(self, text: str) -> None:
        if self._pieces and self._is_replaced:
            self._is_replaced = bool(rest_of(text, self._pieces[-1]))
        self._pieces.append(text)

    def unfinished(self) -> str:
        """Return what came since the last sentence was complete."""
        return self._pieces[-1] if self._pieces and self._is_replaced else "".join(self._pieces)

    def complete(self, text: str = "") -> None:
        """Take the last piece, or the whole of what came in pieces."""
        said = self.unfinished()
        self._whole.append(text if rest_of(text, said) is not None else said + text)
        self._pieces.clear()
        self._is_replaced = True

    def fact(self, *, final: bool) -> InputTranscribed:
        return InputTranscribed(self.name, "".join((*self._whole, self.unfinished())), final)


class _Voice:
    """What an agent is saying."""

    __slots__ = ("call", "pieces")

    def __init__(self, call: ModelCall, pieces: list[str]) -> None:
        self.call = call
        self.pieces = pieces

    def say(self, text: str, cursor: int, out: list[Fact]) -> None:
        if text:
            self.pieces.append(text)
            self.call.say("transcript", text, "", (cursor, 0), out)

    def said(self) -> str:
        return "".join(self.pieces)


class Transcripts:
    """The transcripts of one run."""

    def __init__(self) -> None:
        self._speaking: dict[Lane, _Voice] = {}
        self._paused: set[Lane] = set()
        """Transcripts whose block a call has ended."""
        self._heard: _Heard | None = None
        self._answered: _Heard | None = None
        """The utterance that is being answered and was not complete."""
        self.joins = False
        """An utterance lasts until it is answered, as in a live run."""

    # -------------------------------------------------------------- the agent

    def speak(
        self,
        cursor: int,
        said: Transcription,
        partial: bool | None,
        speaker: Speaker,
        out: list[Fact],
    ) -> str:
        """Take a piece of what the agent says, or the end of it; return all of it at the end."""
        text = said.text or ""
        voice = self._voice(cursor, speaker)
        if not _is_final(said, partial):
            voice.say(text, cursor, out)
            return ""
        rest = rest_of(text, voice.said())
        voice.say(text if rest is None else rest, cursor, out)
        return self.hush(speaker, out)

    def _voice(self, cursor: int, speaker: Speaker) -> _Voice:
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is None or lane in self._paused:
            said = [] if voice is None else voice.pieces
            voice = self._speaking[lane] = _Voice(ModelCall(f"call-{cursor}", speaker), said)
        self._paused.discard(lane)
        return voice

    def pause(self, speaker: Speaker, out: list[Fact]) -> None:
        """End the block that a speaker's words are in; what was said stays said."""
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is not None:
            voice.call.end_block(out)
            self._paused.add(lane)

    def pause_all(self, out: list[Fact]) -> None:
        """End the block of every speaker's words."""
        for voice in self._speaking.values():
            voice.call.end_block(out)
        self._paused.update(self._speaking)

    def hush(self, speaker: Speaker, out: list[Fact]) -> str:
        """End what a speaker says; return all of it."""
        lane = lane_of(speaker)
        self._paused.discard(lane)
        voice = self._speaking.pop(lane, None)
        if voice is None:
            return ""
        voice.call.end_block(out)
        return voice.said()

    def cut_off_texts(self) -> Iterator[AgentText]:
        """Yield the transcripts that have not been completed."""
        for voice in self._speaking.values():
            if text := voice.said():
                yield AgentText(voice.call.speaker, text, True)

    # -------------------------------------------------------------- the user

    def hear(self, cursor: int, said: Transcription, partial: bool | None, out: list[Fact]) -> None:
        """Take a piece of what the user says, or the end of it."""
        text = said.text or ""
        final = _is_final(said, partial)
        if final:
            text = self._finish_answered(text, out)
        if not text and self._heard is None:
            return
        heard = self._heard
        if heard is None:
            heard = self._heard = _Heard(f"input-{cursor}")
        if final:
            heard.complete(text)
            self._heard = heard if self.joins else None
        else:
            heard.add(text)
        out.append(heard.fact(final=final))

    def _finish_answered(self, text: str, out: list[Fact]) -> str:
        """End the utterance that is being answered, if `text` completes it; return the rest of `text`."""
        earlier = self._answered
        rest = rest_of(text, earlier.unfinished()) if earlier is not None and text else None
        if earlier is None or rest is None:
            return text
        self._answered = None
        earlier.complete(text.removesuffix(rest) if rest else text)
        out.append(earlier.fact(final=True))
        return rest

    def answer(self) -> None:
        """Note that the agent begins to answer: what is heard from now on is another utterance."""
        if self._heard is not None and self._heard.is_open:
            self._answered = self._heard
        self._heard = None

    def complete(self, out: list[Fact]) -> None:
        """End what the user has said: the turn is over without a mark of the end."""
        for heard in (self._answered, self._heard):
            if heard is not None and heard.is_open:
                heard.complete()
                out.append(heard.fact(final=True))
        self._answered = None
        if not self.joins:
            self._heard = None

    def close(self, out: list[Fact]) -> None:
        """End what is still open when the run is over."""
        for voice in self._speaking.values():
            voice.call.end_block(out)
        self._speaking.clear()
        self._paused.clear()
        self.complete(out)


def _is_final(said: Transcription, partial: bool | None) -> bool:
    return said.finished if said.finished is not None else partial is False


def rest_of(whole: str, said: str) -> str | None:
    """Return what `whole` adds to `said`; None if it does not begin with it.

    Spaces, signs and capitals may differ: a transcript gets them when it is complete.
    """
    if whole.startswith(said):
        return whole[len(said) :]
    letters = [char.lower() for char in said if char.isalnum()]
    place = 0
    for index, char in enumerate(whole if letters else ""):
        if not char.isalnum():
            continue
        if char.lower() != letters[place]:
            return None
        place += 1
        if place == len(letters):
            return _news(whole[index + 1 :], said)
    return None


def _news(rest: str, said: str) -> str:
    """Leave out signs that only end again what `said` has ended."""
    is_ended = not said[-1].isalnum()
    return "" if is_ended and not any(map(str.isalnum, rest)) else rest
