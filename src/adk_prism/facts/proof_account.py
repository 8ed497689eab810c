"""What one subject has given for its proof so far, answer by answer.

An answer to the same question again (the same tool with the same input, the same call) takes the place
of the earlier one; every other answer is added, so that a specialist who is asked twice has all its
numbers. The last answers count: what is older than the bounds is counted as left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from adk_prism.facts.proof_confidence import Confidence, derive, disagreements
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

ANSWERS = 8
"""Answers of one subject that its proof is made of."""

_FROM_THE_START = ("uncited", "specialists")
"""Of these the first are shown; of all others the newest."""

Key = tuple[str, ...]


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

    def take(self, key: Key, pieces: Pieces) -> None:
        """Take what an answer gives, in the place of what the same key gave."""
        known = self._answers.pop(key, None)
        self._summed = None
        if pieces.count:
            self._answers[key] = pieces
        if pieces.count or known is not None:
            self.is_told = False
        if len(self._answers) > ANSWERS:
            self._omitted += self._answers.pop(next(iter(self._answers))).count

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
            "disagreements": _contradictions(summary.readings),
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
    citations = once([citation for pieces in answers for citation in pieces.citations])
    given = {piece.origin for piece in readings}
    given.update(piece.origin for piece in citations)
    given.update(step.origin for pieces in answers for step in pieces.steps)
    parsed: ProofOrigin = "parsed" if answers else "absent"
    return _Summary(
        readings, citations, derive(readings), "computed" if "computed" in given else parsed
    )


def _contradictions(readings: Sequence[Reading]) -> list[Disagreement]:
    """Return where a subject's text says another number than its own tools computed."""
    computed = [reading for reading in readings if reading.origin == "computed"]
    if not computed or len(computed) == len(readings):
        return []
    return disagreements([r for r in readings if r.origin == "parsed"], computed)


def once(citations: Sequence[Citation]) -> list[Citation]:
    """Return citations without repetitions, in the order of first sight.

    A text only names what a tool cites in full: such a name is the tool's citation.
    """
    if len(citations) < 2:
        return list(citations)
    found: dict[tuple[str, ...], Citation] = {}
    for citation in citations:
        key = (citation.source, citation.reference, citation.uri, citation.hash)
        found.setdefault(key, citation)
    computed = {c.source for c in found.values() if c.origin == "computed"}
    return [c for c in found.values() if c.origin == "computed" or c.source not in computed]
