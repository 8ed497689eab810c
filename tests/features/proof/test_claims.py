"""Claims of other people's answers: matched by their figures; rules and steps that a stranger can follow."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from adk_prism.features.proof.annotator import asked, found
from adk_prism.features.proof.prose.citations import read_citations, read_inline
from adk_prism.features.proof.prose.findings import Evidence

SAID = Evidence(
    "### Summary\nTwo bridges are out and one trail has slid. 127,311 acres burned, 36.04% of them severely. "
    "T01 and T02 are closed since 2022-10-25. Unit U1 holds 8,412 MBF worth $1,250,000."
)
CLAIMS = {
    True: "Infrastructure Damage: 2 bridges out, 1 trail lost|"
    "Fire Severity (synthetic): 127,311 acres burned|"
    "About 127,000 acres burned|36% of the burned acres are severe|Close T01, T02|Closed since 2022-10-25|"
    "U1 holds 8,412 MBF|It is worth $1,250,000.00|127k acres burned|It is worth $1.25M|"
    "worth 1.25 million",
    False: "5 bridges are out|Close T03|2 houses in 1 town|Closed since 2022-10-26|"
    "37% of the acres are severe|"
    "128,000 acres burned|128k acres burned|It is worth $1.35 million|"
    "8,412 people were evacuated from villages nearby",
}


@pytest.mark.parametrize(
    ("claim", "expected"), [(claim, e) for e, each in CLAIMS.items() for claim in each.split("|")]
)
def test_a_claim_is_matched_by_its_figures(claim: str, expected: bool) -> None:
    """All of them, rounded or spelt out, about the same things; the heading before a claim is none of it."""
    assert SAID.supports(claim) is expected


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("36 CFR 220.6(e)(13) and 36 CFR 220.6(e)(11)", "36 CFR 220.6(e)(13)|36 CFR 220.6(e)(11)"),
        ("36 CFR 220.6(e)(11) and (13)", "36 CFR 220.6(e)(11)|36 CFR 220.6(e)(13)"),
        ("36 CFR 220.6(e)(1) or (e)(13)", "36 CFR 220.6(e)(1)|36 CFR 220.6(e)(13)"),
        ("36 CFR 220.6(e)(13), FSM 2523", "36 CFR 220.6(e)(13)|FSM 2523"),
        ("16 U.S.C. 528 & 36 CFR 220", "16 U.S.C. 528|36 CFR 220"),
        ("7 CFR 1b.4(d)(36)", "7 CFR 1b.4(d)(36)"),
        ("§ 543 Abs. 2 Nr. 3 BGB and § 569 Abs. 3 BGB", "§ 543 Abs. 2 Nr. 3 BGB|§ 569 Abs. 3 BGB"),
        (
            "Article 6(1)(b) GDPR and Article 9(2)(h) GDPR",
            "Article 6(1)(b) GDPR|Article 9(2)(h) GDPR",
        ),
        ("Parry, Filip, Willits & Parks 1996", "Parry, Filip, Willits & Parks 1996"),
        ("Smith and Jones 2001", "Smith and Jones 2001"),
    ],
)
def test_two_rules_in_one_basis_are_two_citations(text: str, sources: str) -> None:
    """Also where the second is named by its paragraph alone; names of authors are not separated."""
    assert [cited.source for cited in read_citations(text, "Regulatory Basis")] == sources.split(
        "|"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"request": "fire_id:f1 question:Is it open?"}, "fire_id:f1 question:Is it open?"),
        ({"query": "malaria", "limit": 50, "kinds": ["review"]}, "query: malaria, limit: 50, kinds: 1 items"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_step_says_what_was_asked(arguments: dict[str, object], text: str) -> None:
    """An agent's request, or a tool's arguments."""
    assert text in asked("Was asked", json.dumps(arguments).encode())


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"result": "### 1. Summary\nThe burn is a mosaic. More."}, "The burn is a mosaic."),
        ({"result": "**Confidence:** 60%\n\n### Cruise\n- 8,412 MBF are left."}, "8,412 MBF are left."),
        ({"result": 42}, "42"),
        ({"count": 3, "rows": [1, 2]}, "count: 3, rows: 2 items"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_step_says_what_was_found(output: dict[str, object], text: str) -> None:
    """The first statement of an answer, not its heading or its confidence; without a text, its values."""
    line = found("Answered", Raw(json.dumps(output).encode()))
    assert line == (f"Answered: {text}" if text else "Answered")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Returns rose by 2.7 points, from 4.1 to 6.8 percent", True),
        ("Returns went up by 2.7 percentage points, from 4.1 to 6.8 percent.", True),
        ("Sales of garden furniture went from 4.1 to 6.8 million there", False),
        ("Returns rose by 3.7 points, from 4.1 to 6.8 percent", False),
        ("Returns of 2.7 in stores, 4.1 and 6.8 percent online", False),
    ],
)
def test_a_difference_of_two_figures(claim: str, expected: bool) -> None:
    """It is worked out in the claim itself, if the claim says so."""
    said = Evidence("Returns rose from 4.1% in the first quarter to 6.8% in the second.")
    assert said.supports(claim) is expected


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            "Under § 543 Abs. 2 Nr. 3 BGB he may. So he does.",
            "Under § 543 Abs. 2 Nr. 3 BGB he may.",
        ),
        ("Ask Dr. Roe about room 5. Then go.", "Ask Dr. Roe about room 5."),
        ("The short answer is No. We go on.", "The short answer is No."),
        ("See Fig. 3 and No. 7 below. Then go.", "See Fig. 3 and No. 7 below."),
    ],
)
def test_a_step_is_a_whole_sentence(text: str, first: str) -> None:
    """An abbreviation does not end it."""
    assert (
        found("It answered", Raw(json.dumps({"result": text}).encode())) == f"It answered: {first}"
    )


def test_a_law_named_after_the_beginning_of_a_sentence() -> None:
    """The word that begins the sentence is not a part of the law."""
    named = [
        each.source
        for each in read_inline("Under § 543 Abs. 2 BGB and Civ. Code § 1671(b) he may.")
    ]
    assert sorted(named) == ["Civ. Code § 1671(b)", "§ 543 Abs. 2 BGB"]
