"""Each form of the corpus is read as it says, alone and inside a longer answer; nothing ever raises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.features.proof import proof_corpus, proof_corpus_written
from tests.features.proof.proof_corpus import NOT_CONFIDENCE, Case, Cites, Says

from adk_prism.features.proof.model import Citation, Reading
from adk_prism.features.proof.prose.answer_reader import LABELS, read_proof_text
from adk_prism.features.proof.prose.findings import LONGEST, MOST, ProofText

CORPUS = (*proof_corpus.CORPUS, *proof_corpus_written.WRITTEN)


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


def test_there_are_enough_forms() -> None:
    """Each has its own name, and many are of what must not be read."""
    assert len({case.id for case in CORPUS}) == len(CORPUS) >= 60
    assert len(NOT_CONFIDENCE) >= 15


_UNQUOTED = [case for case in CORPUS if not any(mark in case.text for mark in ("```", "|", "=="))]
"""Code, tables and underlined headings are none any more inside a quote."""


@pytest.mark.parametrize("case", _UNQUOTED, ids=lambda case: case.id)
def test_a_form_is_read_in_a_quote(case: Case) -> None:
    """Quoting a whole answer changes nothing of what it says."""
    quoted = "\n".join(f"> {line}" for line in case.text.splitlines())
    assert as_case(case, read_proof_text(quoted)) == case


_LOOSE = [case for case in CORPUS if "```" not in case.text and not case.text.startswith("#")]


@pytest.mark.parametrize("case", _LOOSE, ids=lambda case: case.id)
def test_a_form_is_read_among_others(case: Case) -> None:
    """Prose and figures around it are nobody's confidence, and do not hide it."""
    around = f"The fire grew by 12% in a day.\n\n{case.text}\n\nIt is 70 % contained.\n"
    assert as_case(case, read_proof_text(around)) == case


@pytest.mark.parametrize("case", _LOOSE, ids=lambda case: case.id)
def test_a_form_belongs_to_its_section(case: Case) -> None:
    """What each number belongs to is kept."""
    found = read_proof_text(f"# Report\n\n## Culverts\n\n{case.text}")
    sections = tuple(replace(said, section=said.section or "Culverts") for said in case.says)
    assert as_case(case, found) == replace(case, says=sections)


def test_each_piece_names_its_entry() -> None:
    """A reader can jump to where it was said."""
    found = read_proof_text("Confidence: 92%\nSource: MTBS\nConfidence: 140%", 7)
    assert found.readings[0].cursor == found.citations[0].cursor == found.unread[0].cursor == 7


# --------------------------------------------------------------------------- any text at all

_MARKS = st.sampled_from(
    [
        "**",
        "*",
        "_",
        "`",
        "```",
        "#",
        "## ",
        "> ",
        "- ",
        "|",
        "\n",
        "\n\n",
        " ",
        "(",
        ")",
        "[",
        "](",
        "<",
        ">",
    ]
)
_WORDS = st.sampled_from(
    """Confidence: confidence Certainty confident 92% 140% -5% 0.92 9/10 High very low about ninety between
    and for in is Source: Sources Reference Regulatory Basis: 36 CFR 220.6(e)(13) Reasoning: [^1]: https://a.b
    ± % 信頼度 İ ﬁ""".split()
)
_ANY = st.lists(st.one_of(_MARKS, _WORDS, st.text(max_size=8)), max_size=60).map(" ".join)
_JOINED = st.lists(st.one_of(_MARKS, _WORDS), max_size=80).map("".join)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.one_of(_ANY, _JOINED, st.text(max_size=300)))
@example("Confidence: " + "9" * 5_000 + "%")
@example("Confidence: 1e400")
@example("\ud800 Confidence: 92%")
@example("|" * 5_000 + "confidence")
@example("İ confidence: İ 92%")
def test_no_text_makes_it_raise(text: str) -> None:
    """And whatever is read is a share of one, or none."""
    found = read_proof_text(text, figures=True)
    for reading in found.readings:
        for number in (reading.value, reading.low, reading.high):
            assert number is None or 0 <= number <= 1
        assert reading.value is not None or reading.level or reading.low is not None
    for citation in found.citations:
        assert citation.source.strip()


# --------------------------------------------------------------------------- size


def test_what_is_left_out_is_counted() -> None:
    """A text with more statements than a person reads keeps the first ones."""
    found = read_proof_text("Confidence: 92%\n" * (MOST + 10))
    assert len(found.readings) == MOST
    assert found.omitted == 10


def test_a_text_of_labels_is_not_looked_at_to_its_end() -> None:
    """Whoever writes a million labels states nothing."""
    found = read_proof_text("confidence " * (LABELS + 5))
    assert not found.readings
    assert found.omitted == 5


def test_a_quotation_has_a_bound() -> None:
    """What is quoted is recognised by its beginning."""
    found = read_proof_text(f"Confidence: {'word ' * 300}")
    assert len(found.unread[0].text) <= LONGEST + 1
