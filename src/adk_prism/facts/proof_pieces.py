"""What one answer gives for a proof: some of each kind of piece."""

from __future__ import annotations

from adk_prism.facts.proof_model import Citation, Factor, Reading, Step, Unread
from adk_prism.facts.prose.text_pieces import ProofText

MOST = 48
"""Pieces of each kind that a proof shows, and that are read from one tool's layer."""


class Pieces:
    """What one answer gives for a proof."""

    __slots__ = ("call", "citations", "factors", "omitted", "readings", "steps", "unread")

    def __init__(self) -> None:
        self.call = ""
        """The call of the specialist in which it was given; empty where no call runs the speaker."""
        self.readings: list[Reading] = []
        self.citations: list[Citation] = []
        self.steps: list[Step] = []
        self.factors: list[Factor] = []
        self.unread: list[Unread] = []
        self.omitted = 0

    @classmethod
    def of(cls, text: ProofText, cursor: int) -> Pieces:
        """Return what was read from a text."""
        pieces = cls()
        pieces.readings = text.readings
        pieces.citations = text.citations
        pieces.steps = [Step(reason, "stated", cursor, "parsed") for reason in text.reasons]
        pieces.unread = text.unread
        pieces.omitted = text.omitted
        return pieces

    def add(self, other: Pieces) -> None:
        """Take the pieces of another answer as well."""
        self.readings = [*self.readings, *other.readings]
        self.citations = [*self.citations, *other.citations]
        self.steps = [*self.steps, *other.steps]
        self.factors = [*self.factors, *other.factors]
        self.unread = [*self.unread, *other.unread]
        self.omitted += other.omitted

    @property
    def count(self) -> int:
        """How many pieces there are, of all kinds."""
        lists = (self.readings, self.citations, self.steps, self.factors, self.unread)
        return sum(len(pieces) for pieces in lists)
