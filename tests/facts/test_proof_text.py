"""Each form of the corpus is read as it says, whole and inside a longer answer."""

from __future__ import annotations

import pytest
from tests.facts.proof_corpus import CORPUS, Case, Cites, Says

from adk_prism.facts.proof_model import Citation, Reading
from adk_prism.facts.proof_text import ProofText, read_proof_text


def says(found: Reading) -> Says:
    return Says(
        found.value,
        found.level,
        found.about,
        found.section,
        found.reason,
        found.low,
        found.high,
        found.bound,
        found.overall,
    )


def cites(found: Citation) -> Cites:
    return Cites(found.source, found.reference, found.uri, found.excerpt, found.label)


def as_case(case: Case, found: ProofText) -> Case:
    """Put what was read into the form of a case."""
    return Case(
        case.id,
        case.text,
        tuple(map(says, found.readings)),
        tuple(map(cites, found.citations)),
        tuple(found.reasons),
        tuple(f"{unread.reason}: {unread.text}" for unread in found.unread),
    )


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.id)
def test_a_form_is_read(case: Case) -> None:
    """Nothing more, nothing less."""
    assert as_case(case, read_proof_text(case.text)) == case
