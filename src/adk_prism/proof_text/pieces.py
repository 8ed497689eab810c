"""The pieces of a proof that one answer gives: readings, citations, steps, factors."""

from __future__ import annotations

from msgspec import Struct

from adk_prism.facts.proof_model import Citation, Factor, Reading, Step, Unread
from adk_prism.proof_text.prose.findings import ProofText

MOST = 48
"""Pieces of each kind that a proof shows, and that are read from one tool's layer."""


class Pieces(Struct):
    """What one answer gives for a proof."""

    call: str = ""
    """The specialist's call in which it was given; empty if no call runs the speaker."""
    readings: list[Reading] = []
    citations: list[Citation] = []
    steps: list[Step] = []
    factors: list[Factor] = []
    unread: list[Unread] = []
    omitted: int = 0

    @classmethod
    def of(cls, text: ProofText, cursor: int) -> Pieces:
        """Return the pieces that were read from a text."""
        return cls(
            readings=text.readings,
            citations=text.citations,
            steps=[Step(reason, "stated", cursor, "parsed") for reason in text.reasons],
            unread=text.unread,
            omitted=text.omitted,
        )

    def add(self, other: Pieces) -> None:
        """Add the pieces of another answer."""
        self.readings = [*self.readings, *other.readings]
        self.citations = [*self.citations, *other.citations]
        self.steps = [*self.steps, *other.steps]
        self.factors = [*self.factors, *other.factors]
        self.unread = [*self.unread, *other.unread]
        self.omitted += other.omitted

    @property
    def count(self) -> int:
        """The number of pieces of all kinds."""
        lists = (self.readings, self.citations, self.steps, self.factors, self.unread)
        return sum(len(pieces) for pieces in lists)
