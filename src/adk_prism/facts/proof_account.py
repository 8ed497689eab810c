"""What one subject has given for its proof so far, answer by answer.

An answer to the same question again (the same finding, the same tool with the same input, the same call)
takes the place of the earlier one; every other answer is added, so that a specialist who is asked twice
has all its numbers. What was said around a finding that a follow-up replaced is replaced with it. The last
answers count: what is older than the bounds is counted as left out.

A text is compared with what the tools of the same call computed, and where they cite sources its prose is
not read for more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct

from adk_prism.facts.proof_citations import once
from adk_prism.facts.proof_confidence import Confidence, derive, disagreements, repeats
from adk_prism.facts.proof_model import (
    Citation,
    Disagreement,
    Proof,
    ProofOrigin,
    Reading,
    Step,
    Subject,
    SubjectKind,
)
from adk_prism.facts.proof_pieces import MOST, Pieces

ANSWERS = 16
"""Answers of one subject that its proof is made of: its tools' layers, and what it said around them."""

_FROM_THE_START = ("uncited", "specialists")
"""Of these the first are shown; of all others the newest."""

Key = tuple[str, ...]

ANSWER, SUMMARY = "answer", "layer"
"""The keys of what a specialist said, and of a layer that it gave beside it, sums of its tools' layers."""
_SAID = frozenset((ANSWER, SUMMARY))


def _keys_of(call: str) -> tuple[Key, Key]:
    return (ANSWER, call), (SUMMARY, call)


class Account:
    """The answers of one subject."""

    def __init__(self, kind: SubjectKind, name: str) -> None:
        self.kind: SubjectKind = kind
        self.name = name
        self.path = ""
        self.is_told = False
        """Its proof has been given, as far as it is known."""
        self._calls: dict[str, None] = {}
        self._answers: dict[Key, Pieces] = {}
        self._steps: list[Step] = []
        self._omitted = 0
        self._summed: _Summary | None = None
        """Until an answer changes it."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was given; the sequence of its calls alone proves nothing."""
        return not self._answers

    def join(self, call: str) -> None:
        """Note a call that it answers."""
        self._calls[call] = None
        if len(self._calls) > ANSWERS:
            del self._calls[next(iter(self._calls))]

    def take(self, key: Key, pieces: Pieces, call: str = "") -> None:
        """Take what an answer gives in a `call`, in the place of what the same key gave."""
        pieces.call = call
        known = self._answers.pop(key, None)
        self._summed = None
        if pieces.count:
            self._answers[key] = pieces
        if pieces.count or known is not None:
            self.is_told = False
        if known is not None and known.call != call:
            self._replace(known)
        if len(self._answers) > ANSWERS:
            self._omitted += self._answers.pop(next(iter(self._answers))).count

    def say(self, pieces: Pieces, call: str = "") -> None:
        """Take what was said in a `call`."""
        self.take((ANSWER, call), pieces, call)

    def sum_up(self, pieces: Pieces, call: str) -> None:
        """Take the sources of a layer that sums up those of the tools of a `call`."""
        sources = Pieces()
        sources.citations = pieces.citations
        self.take((SUMMARY, call), sources, call)

    def has_layers(self, call: str) -> bool:
        """Tell whether tools gave layers in a call."""
        return bool(self._layers(call))

    def _layers(self, call: str) -> list[Pieces]:
        answers = self._answers.items()
        return [pieces for key, pieces in answers if pieces.call == call and key[0] not in _SAID]

    def _replace(self, old: Pieces) -> None:
        """Drop what an earlier call said around a layer that a later call has replaced."""
        left = self._layers(old.call)
        said = [key for key in _keys_of(old.call) if key in self._answers]
        for key in said:
            if not left:
                del self._answers[key]
                continue
            known = [reading for pieces in left for reading in pieces.readings]
            pieces = self._answers[key]
            pieces.readings = [
                reading
                for reading in pieces.readings
                if not repeats(reading, old.readings) or repeats(reading, known)
            ]

    def step(self, step: Step) -> None:
        """Take a link of the sequence of calls and answers."""
        if len(self._steps) < MOST:
            self._steps.append(step)
        else:
            self._omitted += 1

    # -------------------------------------------------------------- what it comes to

    @property
    def readings(self) -> list[Reading]:
        """Every confidence that was given."""
        return self._summary().readings

    @property
    def latest(self) -> list[Reading]:
        """The confidences that its last call gave; all of them where that gave none."""
        call = next(reversed(self._calls), "")
        answers = (pieces for pieces in self._answers.values() if pieces.call == call)
        return [reading for pieces in answers for reading in pieces.readings] or self.readings

    @property
    def citations(self) -> list[Citation]:
        """Every citation, once."""
        return self._summary().citations

    @property
    def confidence(self) -> Confidence:
        """What the readings come to."""
        return self._summary().confidence

    @property
    def origin(self) -> ProofOrigin:
        """How it was given: anything as data makes it computed."""
        return self._summary().origin

    def _summary(self) -> _Summary:
        if self._summed is None:
            self._summed = _sum(self._answers.values())
        return self._summed

    def proof(self, **more: Any) -> Proof:
        """Return the proof as it stands; `more` is what the whole answer says otherwise."""
        summary = self._summary()
        confidence = summary.confidence
        answers = self._answers.values()
        fields: dict[str, Any] = {
            "subject": Subject(self.kind, self.name, list(self._calls), self.path),
            "origin": summary.origin,
            "confidence": confidence.value,
            "derivation": confidence.derivation,
            "level": confidence.level,
            "readings": summary.readings,
            "citations": summary.citations,
            "reasoning_chain": self._chain(),
            "factors": [factor for pieces in answers for factor in pieces.factors],
            "unread": [unread for pieces in answers for unread in pieces.unread],
            "disagreements": list(_contradictions(answers)),
            **more,
        }
        omitted = self._omitted + sum(pieces.omitted for pieces in answers)
        for name, pieces in fields.items():
            if isinstance(pieces, list) and len(pieces) > MOST:
                omitted += len(pieces) - MOST
                fields[name] = pieces[:MOST] if name in _FROM_THE_START else pieces[-MOST:]
        return Proof(**fields, omitted=omitted)

    def _chain(self) -> list[Step]:
        """Return the steps as they came: what was said, and what was done."""
        stated = [step for pieces in self._answers.values() for step in pieces.steps]
        return sorted([*self._steps, *stated], key=lambda step: step.cursor)


class _Summary(Struct, frozen=True, gc=False):
    """What some answers come to."""

    readings: list[Reading]
    citations: list[Citation]
    confidence: Confidence
    origin: ProofOrigin


def _sum(answers: Collection[Pieces]) -> _Summary:
    readings = [reading for pieces in answers for reading in pieces.readings]
    citations = once(_citations(answers))
    given = {piece.origin for piece in readings}
    given.update(piece.origin for piece in citations)
    given.update(step.origin for pieces in answers for step in pieces.steps)
    parsed: ProofOrigin = "parsed" if answers else "absent"
    return _Summary(
        readings, citations, derive(readings), "computed" if "computed" in given else parsed
    )


def _citations(answers: Collection[Pieces]) -> Iterator[Citation]:
    """Yield what was cited: where a call cites sources as data, no others from its prose."""
    given = [(p.call, citation) for p in answers for citation in p.citations]
    cited = {call for call, citation in given if citation.origin == "computed"}
    for call, citation in given:
        if citation.origin == "computed" or call not in cited:
            yield citation


def _contradictions(answers: Collection[Pieces]) -> Iterator[Disagreement]:
    """Yield where a subject's text says another number than its tools computed, in the same call if any."""
    computed = [(p.call, r) for p in answers for r in p.readings if r.origin == "computed"]
    for pieces in answers if computed else ():
        stated = [reading for reading in pieces.readings if reading.origin == "parsed"]
        own = [reading for call, reading in computed if call == pieces.call]
        yield from disagreements(stated, own or [reading for _, reading in computed])
