"""Where messages begin and end in a live run, which has many: one for each turn of the agent.

The rules, each found on real runs of google-adk 2.13 against both families of live models:
- the first thing that the agent says, plays, shows or calls begins a message; what the user says, usage
  and voice activity never do;
- `turnComplete` ends it, unless a call has no answer yet, or the last content is a call or an answer and
  this batch of calls has not used its one forgiven `turnComplete`: some models complete the turn of the
  call and speak in the next one, others stay silent after a tool. A forgiven message ends at the next
  `turnComplete`, when the user speaks, or with the run;
- while a call waits, or its arguments are still arriving, all that is said stays in its message: no client
  takes an output for a call of an earlier one. A call that the model's provider runs does not wait: with the
  turn it is over, answered or not;
- who is interrupted by the person is not heard until upstream ends the turn too; unless a call was the
  last thing: what comes then is news.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent
from adk_prism.facts.model import Fact, MessageBegan, MessageEnded, Speaker
from adk_prism.facts.outcome import Ending

IDLE = "IDLE"
"""`interactionStatus` of a model that has nothing more to say to this prompt."""

_SPEECH = (
    fact.BlockBegan,
    fact.BlockGrew,
    fact.BlockEnded,
    fact.BlocksReplaced,
    fact.AudioHeard,
)
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


class _Open:
    """The current message."""

    __slots__ = ("at_provider", "ends_with_call", "forgives", "held", "message", "unanswered")

    def __init__(self, message: str) -> None:
        self.message = message
        self.unanswered: set[str] = set()
        self.at_provider: dict[str, str] = {}
        """Calls that the model's provider runs, without an answer: call → name."""
        self.ends_with_call = False
        """The last content is a call, or the answer to one."""
        self.forgives = False
        """One `turnComplete` may pass: the batch of calls has not had its own."""
        self.held = False
        """It has passed; the message ends with the next occasion."""


class Turns:
    """The messages of one live run."""

    def __init__(self, run: str, ending: Ending) -> None:
        self._run = run
        self._ending = ending
        self._count = 0
        self._open: _Open | None = None
        self._speaker = Speaker("", "", "")
        self._is_speaking = False
        """Something was said, and upstream has not ended the turn."""
        self._is_muted = False
        self._left: set[str] = set()
        """Calls that ended with their message: what comes of them later is of no message."""

    @property
    def is_muted(self) -> bool:
        """Whether what the agent says is not heard, until upstream ends its turn."""
        return self._is_muted

    def feed(self, facts: Sequence[Fact], sign: Sign = NOTHING_SAID) -> list[Fact]:
        """Return the facts of an entry with the begins and ends of messages among them."""
        if self._is_muted:
            facts, sign = self._mute(facts, sign)
        out: list[Fact] = []
        for item in facts:
            self._take(item, out)
        if sign.complete or sign.interrupted:
            self._is_speaking = False
        if sign.complete:
            self._complete(sign.idle, out)
        return out

    def _mute(self, facts: Sequence[Fact], sign: Sign) -> tuple[Sequence[Fact], Sign]:
        heard = [item for item in facts if not isinstance(item, _SPEECH)]
        if sign.complete or sign.interrupted:
            self._is_muted = False
            return [item for item in heard if not isinstance(item, fact.Interrupted)], NOTHING_SAID
        if any(isinstance(item, fact.CallRequested) for item in heard):
            self._is_muted = False
        return heard, sign

    def _take(self, item: Fact, out: list[Fact]) -> None:
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

    def _begin(self, out: list[Fact]) -> None:
        if self._open is None:
            self._count += 1
            self._open = _Open(f"{self._run}-{self._count}")
            self._ending.finish = ""
            out.append(MessageBegan(self._open.message, self._run, False, {}, {}, []))

    def _complete(self, idle: bool, out: list[Fact]) -> None:
        state = self._open
        if state is None:
            return
        if state.unanswered:
            state.forgives = False
        elif state.ends_with_call and state.forgives and not idle:
            state.forgives, state.held = False, True
        else:
            self._end(out)

    def _end(self, out: list[Fact]) -> None:
        state, self._open = self._open, None
        if state is not None:
            out.extend(fact.CallAbandoned(*call, True) for call in state.at_provider.items())
            self._left |= state.at_provider.keys()
            out.append(MessageEnded(state.message, self._ending.finish, False))

    def interrupt(self, closing: Sequence[Fact]) -> list[Fact]:
        """The person cuts the speaker off; `closing` ends the blocks that were open."""
        out = [] if self._is_muted else list(closing)
        if self._is_speaking and not self._is_muted:
            self._is_muted = True
        out.append(fact.Interrupted(self._speaker))
        if self._open is not None and not self._open.unanswered:
            self._end(out)
        return out

    def end(self, closing: Sequence[Fact]) -> list[Fact]:
        """Return what ends the last message, when the run is over."""
        heard = [f for f in closing if not (self._is_muted and isinstance(f, _SPEECH))]
        out: list[Fact] = []
        for item in heard:
            self._take(item, out)
        self._end(out)
        return out


def _note(state: _Open, item: Fact) -> None:
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
