"""What one subject has given for its proof so far, answer by answer.

An answer to the same question again (the same tool with the same input, the same call) takes the place
of the earlier one; every other answer is added, so that a specialist who is asked twice has all its
numbers. The last answers count: what is older than the bounds is counted as left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

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

ANSWERS = 16
"""Answers of one subject that its proof is made of."""

Key = tuple[str, ...]
_Piece = TypeVar("_Piece")


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
        return [reading for pieces in self._answers.values() for reading in pieces.readings]

    @property
    def citations(self) -> list[Citation]:
        """Every citation, once."""
        return once(c for pieces in self._answers.values() for c in pieces.citations)

    @property
    def confidence(self) -> Confidence:
        """What the readings come to."""
        return derive(self.readings)

    @property
    def origin(self) -> ProofOrigin:
        """How it was given: anything as data makes it computed."""
        if self.is_empty:
            return "absent"
        given = {reading.origin for reading in self.readings}
        given |= {citation.origin for citation in self.citations}
        given |= {step.origin for pieces in self._answers.values() for step in pieces.steps}
        return "computed" if "computed" in given else "parsed"

    def proof(self, **more: Any) -> Proof:
        """Return the proof as it stands; `more` is what the whole answer says otherwise."""
        confidence = self.confidence
        answers = self._answers.values()
        fields: dict[str, Any] = {
            "subject": Subject(self.kind, self.name, list(self._calls), self.path),
            "origin": self.origin,
            "confidence": confidence.value,
            "derivation": confidence.derivation,
            "level": confidence.level,
            "readings": self.readings,
            "citations": self.citations,
            "reasoning_chain": self._chain(),
            "factors": [factor for pieces in answers for factor in pieces.factors],
            "unread": [unread for pieces in answers for unread in pieces.unread],
            "disagreements": self._contradictions(),
            **more,
        }
        lists = {name: pieces for name, pieces in fields.items() if isinstance(pieces, list)}
        omitted = self._omitted + sum(pieces.omitted for pieces in answers)
        omitted += sum(max(0, len(pieces) - MOST) for pieces in lists.values())
        return Proof(
            **(fields | {name: _last(pieces) for name, pieces in lists.items()}), omitted=omitted
        )

    def _chain(self) -> list[Step]:
        """Return the steps as they came: what was said, and what was done."""
        stated = [step for pieces in self._answers.values() for step in pieces.steps]
        return sorted([*self._steps, *stated], key=lambda step: step.cursor)

    def _contradictions(self) -> list[Disagreement]:
        """Return where the subject's text says another number than its own tools computed."""
        computed = [reading for reading in self.readings if reading.origin == "computed"]
        stated = [reading for reading in self.readings if reading.origin == "parsed"]
        return disagreements(stated, computed)


def once(citations: Iterable[Citation]) -> list[Citation]:
    """Return citations without repetitions, in the order of first sight.

    A text only names what a tool cites in full: such a name is the tool's citation.
    """
    found: dict[tuple[str, ...], Citation] = {}
    for citation in citations:
        key = (citation.source, citation.reference, citation.uri, citation.hash)
        found.setdefault(key, citation)
    computed = {c.source for c in found.values() if c.origin == "computed"}
    return [c for c in found.values() if c.origin == "computed" or c.source not in computed]


def _last(pieces: Sequence[_Piece]) -> list[_Piece]:
    return list(pieces[-MOST:])
