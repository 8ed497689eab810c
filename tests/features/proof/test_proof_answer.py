"""What the whole answer comes to: its number, whom it rests on, what it does not cite, where it disagrees."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.features.proof.proofs import asked, last, replied
from tests.laws.events import Json, answer, call, entries, event, text

from adk_prism.features.proof.model import Proof


def whole(said: str, *specialists: str) -> Proof:
    """Return the proof of an answer after some specialists' texts."""
    names = [f"s{number}" for number in range(len(specialists))]
    events: list[Json] = []
    if names:
        events.append(event(*(asked(name, name) for name in names)))
        pairs = zip(names, specialists, strict=True)
        events.append(event(*(replied(name, name, words) for name, words in pairs)))
    return last(entries([*events, event(text(said))]))["proof"]


@dataclass(frozen=True)
class Comes:
    id: str
    said: str
    specialists: tuple[str, ...]
    confidence: float | None
    derivation: str
    origin: str = "parsed"


COMES = (
    Comes("its own number", "Confidence: 90%", (), 0.9, "stated in the text"),
    Comes(
        "its overall number",
        "Confidence: 95% for a\nOverall confidence: 90%",
        (),
        0.9,
        "stated as overall",
    ),
    Comes(
        "the lowest of its own",
        "Confidence: 95% for a, 80% for b",
        (),
        0.8,
        "lowest of 2 stated in the text",
    ),
    Comes("a range", "Confidence: 80-90%", (), 0.8, "low end of a range stated in the text"),
    Comes(
        "with its reason", "Confidence: 90% - seen twice", (), 0.9, "stated in the text: seen twice"
    ),
    Comes("a word", "Confidence: high", ("Confidence: 70%",), None, "stated in words only"),
    Comes(
        "the lowest specialist",
        "So.",
        ("Confidence: 90%", "Confidence: 70%"),
        0.7,
        "lowest of 2 specialists: s1",
    ),
    Comes(
        "the one specialist",
        "So.",
        ("Confidence: 90%", "Which fire?"),
        0.9,
        "the one specialist's: s0",
    ),
    Comes("nothing but sources", "Source: MTBS", (), None, "none stated"),
    Comes("specialists without a number", "So.", ("Source: MTBS",), None, "none stated"),
)


@pytest.mark.parametrize("case", COMES, ids=lambda case: case.id)
def test_the_number_of_the_whole(case: Comes) -> None:
    """Stated, or the lowest of whom it rests on; never a default."""
    proof = whole(case.said, *case.specialists)
    found = (proof.confidence, proof.derivation, proof.origin)
    assert found == (case.confidence, case.derivation, case.origin)


def test_who_gave_none_is_named() -> None:
    """The whole says on whom it rests, and who stated nothing."""
    proof = whole("So.", "Confidence: High (90%)", "Which fire?")
    briefs = [
        (brief.name, brief.origin, brief.confidence, brief.level) for brief in proof.specialists
    ]
    assert briefs == [("s0", "parsed", 0.9, "high"), ("s1", "absent", None, "")]


def test_citations_are_its_own_and_its_specialists() -> None:
    """Each with who cited it, and where."""
    proof = whole("Source: BAER report", "Source: MTBS, 2022")
    found = [(c.source, c.reference, c.by, c.cursor) for c in proof.citations]
    assert found == [("BAER report", "", "", 4), ("MTBS", "2022", "s0", 3)]


def test_sources_of_the_provider_count_among_them() -> None:
    """Grounding metadata is a citation too; alone it is sent as it always was."""
    chunk = {"web": {"uri": "https://a.b", "title": "A"}}
    grounded = event(text("Confidence: 90%"), groundingMetadata={"groundingChunks": [chunk]})
    (citation,) = last(entries([grounded]))["proof"].citations
    assert (citation.source, citation.uri, citation.origin) == ("A", "https://a.b", "computed")
    alone = event(text("So."), groundingMetadata={"groundingChunks": [chunk]})
    assert last(entries([alone])) == {}


# --------------------------------------------------------------------------- disagreement


@dataclass(frozen=True)
class Differs:
    id: str
    said: str
    specialists: tuple[str, ...]
    found: tuple[tuple[float, str, str], ...]
    """Number, relation, and what it is about."""


DIFFERS = (
    Differs("the lowest", "Overall confidence: 70%", ("Confidence: 90%", "Confidence: 70%"), ()),
    Differs("rounded", "Overall confidence: 71%", ("Confidence: 0.7132",), ()),
    Differs(
        "higher than all", "Overall confidence: 95%", ("Confidence: 90%",), ((0.95, "higher", ""),)
    ),
    Differs(
        "lower than all", "Overall confidence: 60%", ("Confidence: 90%",), ((0.6, "lower", ""),)
    ),
    Differs(
        "above the lowest",
        "Overall confidence: 85%",
        ("Confidence: 90%", "Confidence: 70%"),
        ((0.85, "within", ""),),
    ),
    Differs(
        "parts that somebody gave",
        "Confidence: 90% for a, 70% for b\n\nOverall confidence: 70%",
        ("Confidence: 90%", "Confidence: 70%"),
        (),
    ),
    Differs(
        "a part that nobody gave",
        "## Timber\nConfidence: 97%\n\nOverall confidence: 70%",
        ("Confidence: 90%", "Confidence: 70%"),
        ((0.97, "nobody's", "Timber"),),
    ),
    Differs("nobody gave a number", "Overall confidence: 70%", ("Confidence: high",), ()),
    Differs(
        "a single number is of everything",
        "Confidence: 95%",
        ("Confidence: 90%",),
        ((0.95, "higher", ""),),
    ),
)


@pytest.mark.parametrize("case", DIFFERS, ids=lambda case: case.id)
def test_disagreement_is_shown(case: Differs) -> None:
    """Between the answer's numbers and those it rests on."""
    proof = whole(case.said, *case.specialists)
    found = tuple((d.stated, d.relation, d.about) for d in proof.disagreements)
    assert found == case.found


def test_a_text_that_contradicts_its_own_tool() -> None:
    """The tool's number counts, and the difference is shown."""
    events = (
        event(asked("burn", "c1"), path="r@1"),
        event(call("m", "c2"), author="burn", path="r@1/burn@1", branch="burn@c1"),
        event(
            answer("m", "c2", {"proof_layer": {"confidence": 0.7}}),
            author="burn",
            path="r@1/burn@1",
            branch="burn@c1",
        ),
        event(text("Confidence: 95%"), author="burn", path="r@1/burn@1", branch="burn@c1"),
    )
    proof = last(entries(events))["proof-burn"]
    assert (proof.confidence, proof.origin) == (0.7, "computed")
    assert [(d.stated, d.relation) for d in proof.disagreements] == [(0.95, "higher")]


# --------------------------------------------------------------------------- claims


def uncited(said: str, *specialists: str) -> list[str]:
    return [claim.text for claim in whole(said, *specialists).uncited]


SURE = "Confidence: 90%"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Two bridges are out.", []),
        ("3 bridges are out.", ["3 bridges are out."]),
        (
            "3 bridges are out. Nobody was hurt. 12 acres slid.",
            ["3 bridges are out.", "12 acres slid."],
        ),
        ("3 bridges are out [1].", []),
        ("3 bridges are out[^2].", []),
        ("3 bridges are out ([survey](https://a.b)).", []),
        ("3 bridges are out (Source: survey).", []),
        ("3 bridges are out under 7 CFR 1b.4(d)(34).", []),
        ("Are 3 bridges out?", []),
        ("1. Close the trail.\n2. Wait.", []),
        ("- 3 bridges are out\n- 4 trails slid", ["3 bridges are out", "4 trails slid"]),
        ("```\nacres = 12\n```", []),
        ("## Plan for 2023\nWait.", []),
    ],
)
def test_a_claim_without_a_citation(said: str, found: list[str]) -> None:
    """A figure that nothing stands behind; a list's numbers and confidence itself are none."""
    assert uncited(f"{said}\n\n{SURE}") == found


def test_a_source_in_the_same_section_cites_its_claims() -> None:
    """And no other section's."""
    said = f"## Trails\n3 are closed.\nSource: survey\n\n## Timber\n12 MBF are left.\n\n{SURE}"
    assert uncited(said) == ["12 MBF are left."]


def test_a_claim_that_names_a_specialists_source_is_cited() -> None:
    """By its name, wherever it was cited."""
    assert uncited(f"MTBS has 42%. 3 bridges are out.\n\n{SURE}", "Source: MTBS") == [
        "3 bridges are out."
    ]


def test_a_claim_in_a_specialists_own_words_is_cited_by_its_sources() -> None:
    """Who repeats a sentence rests on what it rested on; without a source it rests on nothing."""
    said = f"3 bridges are out. 4 trails slid.\n\n{SURE}"
    assert uncited(said, "3 bridges are out.\nSource: survey", "4 trails slid.") == [
        "4 trails slid."
    ]


def test_figures_of_a_tool_that_returns_data() -> None:
    """Numbers that are no text count, and so do those it was asked about; what it did not give does not."""
    said = "SKU 8812 costs 19.99 EUR; 140 are in stock. Delivery takes 3 to 5 days."
    data = {"price": 19.99, "currency": "EUR", "stock": 140, "citations": ["ERP list"]}
    events = (
        event(call("pricing", "c1", {"request": "sku 8812"}), path="r@1"),
        event(answer("pricing", "c1", data), path="r@1"),
        event(text(said), path="r@1"),
    )
    proof = last(entries(events))["proof"]
    assert [claim.text for claim in proof.uncited] == ["Delivery takes 3 to 5 days."]
    assert any(
        "price: 19.99, currency: EUR, stock: 140" in step.text for step in proof.reasoning_chain
    )
