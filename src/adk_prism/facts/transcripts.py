"""What was said aloud, written down: by the agent, and by the user.

A transcript arrives in pieces beside the sound it belongs to. ADK sends sound and words as separate events
of one lane, so a transcript is kept apart from the lane's model call: no piece of sound may end it. What the
user was heard to say is no part of the assistant's message.

Writers mark pieces in different ways, and all of these are one transcript:
- google-adk 2.13: pieces (`partial: true`, `finished: false`), then the whole (`partial: false`,
  `finished: true`), also across a call, at which the block that is shown ends;
- google-adk 1.x: pieces without `partial`, the last one with `finished: true`, or with no text at all;
- Gemini 3.x live: one final transcript and no pieces;
- ADK's cascaded live connection: each piece is the whole hypothesis so far, in place of the one before. It
  may correct earlier words, and so may the final text.
So `finished` decides where it is written, then an explicit `partial: false`; what has neither is a piece. The
final text is compared with the pieces: if it begins with them or corrects them it is the whole, else it is
the last piece.

In a live run ADK cuts what the user says in two when it begins before the agent's turn is over. There an
utterance stays open until the turn that answers it begins, and is all that was heard until then. Where the
model does not mark the end, ADK sends the whole only after the answer has begun: it is still that utterance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct, field

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, Transcription
from adk_prism.facts.event_actions import AgentText
from adk_prism.facts.model_call import Lane, ModelCall, lane_of
from adk_prism.facts.outcome import Ending


class _Heard(Struct, eq=False):
    """What the user is saying."""

    name: str
    _whole: list[str] = []
    """What is complete, sentence by sentence."""
    _pieces: list[str] = []
    """What came since."""
    _is_replaced: bool = True
    """Each piece so far contains or corrects the one before it, and replaces it."""

    @property
    def is_open(self) -> bool:
        return bool(self._pieces)

    def add(self, text: str) -> None:
        if self._pieces and self._is_replaced:
            self._is_replaced = _replaces(text, self._pieces[-1])
        self._pieces.append(text)

    def unfinished(self) -> str:
        """Return what came since the last sentence was complete."""
        return self._pieces[-1] if self._pieces and self._is_replaced else "".join(self._pieces)

    def complete(self, text: str = "") -> None:
        """Take the last piece, or the whole of what came in pieces."""
        said = self.unfinished()
        is_whole = rest_of(text, said) is not None or (self._is_replaced and _replaces(text, said))
        self._whole.append(text if is_whole else said + text)
        self._pieces.clear()
        self._is_replaced = True

    def fact(self, *, final: bool) -> fact.InputTranscribed:
        return fact.InputTranscribed(self.name, "".join((*self._whole, self.unfinished())), final)


class _Voice(Struct, eq=False):
    """What an agent is saying."""

    call: ModelCall
    pieces: list[str]

    def say(self, text: str, cursor: int, out: list[fact.Fact]) -> None:
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
        speaker: fact.Speaker,
        out: list[fact.Fact],
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

    def _voice(self, cursor: int, speaker: fact.Speaker) -> _Voice:
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is None or lane in self._paused:
            said = [] if voice is None else voice.pieces
            voice = self._speaking[lane] = _Voice(ModelCall(f"call-{cursor}", speaker), said)
        self._paused.discard(lane)
        return voice

    def pause(self, speaker: fact.Speaker, out: list[fact.Fact]) -> None:
        """End the block that a speaker's words are in; what was said stays said."""
        lane = lane_of(speaker)
        voice = self._speaking.get(lane)
        if voice is not None:
            voice.call.end_block(out)
            self._paused.add(lane)

    def pause_all(self, out: list[fact.Fact]) -> None:
        """End the block of every speaker's words."""
        for voice in self._speaking.values():
            voice.call.end_block(out)
        self._paused.update(self._speaking)

    def hush(self, speaker: fact.Speaker, out: list[fact.Fact]) -> str:
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

    def hear(
        self, cursor: int, said: Transcription, partial: bool | None, out: list[fact.Fact]
    ) -> None:
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

    def _finish_answered(self, text: str, out: list[fact.Fact]) -> str:
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

    def complete(self, out: list[fact.Fact]) -> None:
        """End what the user has said: the turn is over without a mark of the end."""
        for heard in (self._answered, self._heard):
            if heard is not None and heard.is_open:
                heard.complete()
                out.append(heard.fact(final=True))
        self._answered = None
        if not self.joins:
            self._heard = None

    def close(self, out: list[fact.Fact]) -> None:
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
    letters = _letters(said)
    if not letters or _letters(whole)[: len(letters)] != letters:
        return None
    places = [place for place, char in enumerate(whole) if char.isalnum()]
    return _news(whole[places[len(letters) - 1] + 1 :], said)


def _replaces(text: str, piece: str) -> bool:
    """Return whether `text` is `piece` with more words, or heard better.

    Pieces of one sentence are short or unlike each other; two hypotheses about it are alike.
    """
    if rest_of(text, piece):
        return True
    # Few letters tell nothing; many are not compared, for the time that it takes.
    pair = _letters(text)[:100], _letters(piece)[:100]
    return min(map(len, pair)) >= 6 and SequenceMatcher(None, *pair).ratio() >= 0.6


def _letters(text: str) -> list[str]:
    return [char.lower() for char in text if char.isalnum()]


def _news(rest: str, said: str) -> str:
    """Leave out signs that only end again what `said` has ended."""
    is_ended = not said[-1].isalnum()
    return "" if is_ended and not any(map(str.isalnum, rest)) else rest


# ---------------------------------------------------------------------------
# Where messages begin and end in a live run, which has many: one for each turn of the agent.
#
# The rules, each found on real runs of google-adk 2.13 against both families of live models:
# - the first thing that the agent says, plays, shows or calls begins a message; what the user says, usage
#   and voice activity never do;
# - `turnComplete` ends it, unless a call has no answer yet, or the last content is a call or an answer
#   and
#   this batch of calls has not used its one forgiven `turnComplete`: some models complete the turn of the
#   call and speak in the next one, others stay silent after a tool. A forgiven message ends at the next
#   `turnComplete`, when the user speaks, or with the run;
# - while a call waits, or its arguments are still arriving, all that is said stays in its message: no
#   client
#   takes an output for a call of an earlier one. A call that the model's provider runs does not wait:
#   with the
#   turn it is over, answered or not;
# - who is interrupted by the person is not heard until upstream ends the turn too; unless a call was the
#   last thing: what comes then is new.

IDLE = "IDLE"
"""`interactionStatus` of a model that has nothing more to say to this prompt."""

_SPEECH = (fact.BlockBegan, fact.BlockGrew, fact.BlockEnded, fact.BlocksReplaced, fact.AudioHeard)
_SHOWN = (fact.FileShown, fact.CodeShown, fact.CodeResultShown, fact.SourceCited)
_CALLS = (fact.CallRequested, fact.CallInputGrew)
_ANSWERS = (fact.CallAnswered, fact.CallFailed, fact.CallDenied, fact.CallAbandoned)
_BEGINS = (fact.BlockBegan, fact.AudioHeard, *_SHOWN, *_CALLS)
_USER = (fact.UserSpoke, fact.InputTranscribed)


class Sign(Struct, frozen=True):
    """What an event says of the turn itself."""

    complete: bool = False
    idle: bool = False
    interrupted: bool = False

    @classmethod
    def of(cls, event: AdkEvent) -> Sign:
        """Read it from an event."""
        if not event.turn_complete and not event.interrupted:
            return NOTHING_SAID
        return cls(
            bool(event.turn_complete), event.interaction_status == IDLE, bool(event.interrupted)
        )


NOTHING_SAID = Sign()


class _Open(Struct, eq=False):
    """The current message."""

    message: str
    unanswered: set[str] = field(default_factory=set)
    at_provider: dict[str, str] = {}
    """Calls that the model's provider runs, without an answer: call → name."""
    ends_with_call: bool = False
    """The last content is a call, or the answer to one."""
    forgives: bool = False
    """One `turnComplete` may pass: the batch of calls has not had its own."""
    held: bool = False
    """It has passed; the message ends with the next occasion."""


class Turns:
    """The messages of one live run."""

    def __init__(self, run: str, ending: Ending) -> None:
        self._run = run
        self._ending = ending
        self._count = 0
        self._open: _Open | None = None
        self._speaker = fact.Speaker("", "", "")
        self._is_speaking = False
        """Something was said, and upstream has not ended the turn."""
        self._is_muted = False
        self._left: set[str] = set()
        """Calls that ended with their message: what comes of them later is of no message."""

    @property
    def is_muted(self) -> bool:
        """Whether what the agent says is not heard, until upstream ends its turn."""
        return self._is_muted

    def feed(self, facts: Sequence[fact.Fact], sign: Sign = NOTHING_SAID) -> list[fact.Fact]:
        """Return the facts of an entry with the begins and ends of messages among them."""
        if self._is_muted:
            facts, sign = self._mute(facts, sign)
        out: list[fact.Fact] = []
        for item in facts:
            self._take(item, out)
        if sign.complete or sign.interrupted:
            self._is_speaking = False
        if sign.complete:
            self._complete(sign.idle, out)
        return out

    def _mute(self, facts: Sequence[fact.Fact], sign: Sign) -> tuple[Sequence[fact.Fact], Sign]:
        heard = [item for item in facts if not isinstance(item, _SPEECH)]
        if sign.complete or sign.interrupted:
            self._is_muted = False
            return [item for item in heard if not isinstance(item, fact.Interrupted)], NOTHING_SAID
        if any(isinstance(item, fact.CallRequested) for item in heard):
            self._is_muted = False
        return heard, sign

    def _take(self, item: fact.Fact, out: list[fact.Fact]) -> None:
        kind = type(item)
        if kind in _BEGINS:
            self._begin(out)
            self._is_speaking = kind not in _CALLS  # who calls has said what came before
            self._speaker = getattr(item, "speaker", self._speaker)
        elif kind in _USER:
            if self._open is not None and self._open.held:
                self._end(out)
        elif isinstance(item, _ANSWERS) and (self._open is None or item.call in self._left):
            return  # of an earlier message, which has ended for the client
        out.append(item)
        if self._open is not None:
            _note(self._open, item)

    def _begin(self, out: list[fact.Fact]) -> None:
        if self._open is None:
            self._count += 1
            self._open = _Open(f"{self._run}-{self._count}")
            self._ending.finish = ""
            out.append(fact.MessageBegan(self._open.message, self._run, False, {}, {}, []))

    def _complete(self, idle: bool, out: list[fact.Fact]) -> None:
        state = self._open
        if state is None:
            return
        if state.unanswered:
            state.forgives = False
        elif state.ends_with_call and state.forgives and not idle:
            state.forgives, state.held = False, True
        else:
            self._end(out)

    def _end(self, out: list[fact.Fact]) -> None:
        state, self._open = self._open, None
        if state is not None:
            out.extend(fact.CallAbandoned(*call, True) for call in state.at_provider.items())
            self._left |= state.at_provider.keys()
            out.append(fact.MessageEnded(state.message, self._ending.finish, False))

    def interrupt(self, closing: Sequence[fact.Fact]) -> list[fact.Fact]:
        """The person cuts the speaker off; `closing` ends the blocks that were open."""
        out = [] if self._is_muted else list(closing)
        if self._is_speaking and not self._is_muted:
            self._is_muted = True
        out.append(fact.Interrupted(self._speaker))
        if self._open is not None and not self._open.unanswered:
            self._end(out)
        return out

    def end(self, closing: Sequence[fact.Fact]) -> list[fact.Fact]:
        """Return what ends the last message, when the run is over."""
        heard = [f for f in closing if not (self._is_muted and isinstance(f, _SPEECH))]
        out: list[fact.Fact] = []
        for item in heard:
            self._take(item, out)
        self._end(out)
        return out


def _note(state: _Open, item: fact.Fact) -> None:
    """Note what the message's content ends with, and which calls wait."""
    match item:
        case fact.CallInputGrew():
            state.unanswered.add(item.call)
        case fact.CallRequested():
            if item.provider_executed:
                state.at_provider[item.call] = item.name
            else:
                state.unanswered.add(item.call)
            state.ends_with_call, state.forgives, state.held = True, True, False
        case (
            fact.CallAnswered() | fact.CallFailed() | fact.CallDenied() | fact.CallAbandoned()
        ) as answer:
            state.unanswered.discard(answer.call)
            state.at_provider.pop(answer.call, None)
            state.ends_with_call = True
        case fact.BlockBegan() | fact.BlockGrew() | fact.AudioHeard():
            state.ends_with_call = state.held = False
        case _:
            pass  # beside the content


# ---------------------------------------------------------------------------
# The messages of a live run by id, in the order in which they began.


def utterance_id(run: str, utterance: str) -> str:
    """Return the message id of what was said aloud: utterances are counted within their run."""
    return f"{run}-{utterance}"


class SpokenMessage(Struct, frozen=True):
    """A message of a live run."""

    id: str
    role: Literal["user", "assistant"]


class SpokenMessages:
    """Collects them from facts."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._found: dict[str, SpokenMessage] = {}
        self._open = ""

    def feed(self, item: fact.Fact) -> None:
        """Add what a fact says."""
        match item:
            case fact.UserSpoke():
                self._add(item.message, "user")
            case fact.InputTranscribed():
                self._add(utterance_id(self._run, item.utterance), "user")
            case fact.MessageBegan():
                self._open = item.message
                self._add(item.message, "assistant")
            case fact.MessageEnded():
                self._open = ""
            case _:
                pass  # what a message holds makes no other one

    def _add(self, name: str, role: Literal["user", "assistant"]) -> None:
        self._found.setdefault(name, SpokenMessage(name, role))

    def messages(self) -> list[SpokenMessage]:
        """Return them, without one that is still being said."""
        return [message for name, message in self._found.items() if name != self._open]
