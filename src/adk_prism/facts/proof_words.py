"""What an agent's answer gives for a proof: what stands in its words, and in its fields if it is data."""

from __future__ import annotations

from typing import Any

from adk_prism.facts.proof_layer import read_layer
from adk_prism.facts.proof_model import Claim
from adk_prism.facts.proof_pieces import Pieces
from adk_prism.facts.proof_text import read_proof_text


def read_words(text: str, fields: dict[str, Any], by: str, cursor: int) -> Pieces:
    """Read an answer that has been taken apart (`answer_text`)."""
    return read_words_and_claims(text, fields, by, cursor, claims=False)[0]


def read_words_and_claims(
    text: str, fields: dict[str, Any], by: str, cursor: int, *, claims: bool = True
) -> tuple[Pieces, list[Claim]]:
    """Return as well the sentences that hold a figure and cite nothing."""
    read = read_proof_text(text, cursor, figures=claims)
    pieces = Pieces.of(read, cursor)
    if fields:
        pieces.add(read_layer(fields, by, cursor, "parsed"))
    return pieces, read.figures
