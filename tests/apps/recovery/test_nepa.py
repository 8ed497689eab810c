"""The rules of NEPA by date: what held, what follows it, and what is never offered."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from tests.apps.recovery.folders import Folder, case

from adk_prism_apps.recovery.library.folder import BUNDLED
from adk_prism_apps.recovery.library.problem import DataProblem
from adk_prism_apps.recovery.library.reference import ReferenceTables
from adk_prism_apps.recovery.skills.citation import check_citation
from adk_prism_apps.recovery.skills.pathway import screen_nepa
from adk_prism_apps.recovery.skills.rules import cited_in

TABLE = ReferenceTables(BUNDLED).nepa()


@dataclass(frozen=True)
class Standing:
    """A citation on a day."""

    citation: str
    day: str
    status: str
    follows: str | None = None


STANDINGS = (
    Standing("36 CFR 220.6(e)(13)", "2022-12-01", "in force"),
    Standing("36 CFR 220.6(e)(13)", "2025-07-02", "in force"),
    Standing("36 CFR 220.6(e)(13)", "2025-07-03", "superseded", "7 CFR 1b.4(d)(36)"),
    Standing("36 CFR 220.6(e)(13)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(36)"),
    Standing("36 CFR 220.6(e)(11)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(34)"),
    Standing("36 CFR 220.6(e)(1)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(26)"),
    Standing("36 CFR 220.6(e)(6)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(30)"),
    Standing("36 CFR 220.6(e)(12)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(35)"),
    Standing("36 CFR 220.6(e)(25)", "2026-11-15", "superseded", "7 CFR 1b.4(d)(47)"),
    # Not in the table: its part is known to have ended, its own successor is not.
    Standing("36 CFR 220.6(e)(14)", "2026-11-15", "superseded", "7 CFR 1b"),
    Standing("36 CFR 220.6(e)(14)", "2022-12-01", "not in the table"),
    Standing("36 CFR 220", "2026-11-15", "superseded", "7 CFR 1b"),
    Standing("7 CFR 1b.4(d)(36)", "2022-12-01", "not yet in force"),
    Standing("7 CFR 1b.4(d)(36)", "2026-11-15", "in force"),
    Standing("7 CFR 1b.4(d)(30)", "2026-01-12", "in force"),
    Standing("7 CFR 1b.4(d)(30)", "2026-01-13", "set aside"),
    Standing("40 CFR 1502.4", "2025-04-10", "not in the table"),
    Standing("40 CFR 1502.4", "2025-04-11", "superseded", "7 CFR 1b (for the Forest Service)"),
    Standing("43 CFR 46.215", "2026-11-15", "not in the table"),
)


@pytest.mark.parametrize("standing", STANDINGS, ids=lambda s: f"{s.citation} {s.day}")
def test_a_citation_stands_or_falls_by_its_date(standing: Standing) -> None:
    finding = check_citation(case(standing.day), standing.citation)
    (row,) = finding.data["citations"]

    assert (row["status"], row["superseded_by"]) == (standing.status, standing.follows)


@pytest.mark.parametrize(
    "text",
    [
        "36 CFR 220.6(e)(13)",
        "36 C.F.R. § 220.6(e)(13)",
        "36 cfr 220.6 (e) (13)",
        "see 36 CFR part 220.6(E)(13), please",
    ],
)
def test_citations_are_read_in_any_spelling(text: str) -> None:
    assert [cited.text for cited in cited_in(text)] == ["36 CFR 220.6(e)(13)"]


def test_text_without_a_citation_is_refused_with_an_example() -> None:
    with pytest.raises(DataProblem, match=r"expected one such as 36 CFR 220\.6"):
        check_citation(case(), "the usual rule")


@dataclass(frozen=True)
class Screening:
    """An asked proposal, a day, and what the table says."""

    activity: str
    acres: float | None
    road: float | None
    day: str
    rule: str
    outcome: str


NONE = "no category of the table fits"
SCREENINGS = (
    Screening("salvage", 250, 0.5, "2022-12-01", "36 CFR 220.6(e)(13)", "may fit"),
    Screening("salvage", 251, 0.5, "2022-12-01", "36 CFR 220.6(e)(13)", NONE),
    Screening("salvage", 250, 0.6, "2022-12-01", "36 CFR 220.6(e)(13)", NONE),
    Screening("salvage", 250, 0.5, "2026-11-15", "7 CFR 1b.4(d)(36)", "may fit"),
    Screening("rehabilitation", 4200, None, "2022-12-01", "36 CFR 220.6(e)(11)", "may fit"),
    Screening("rehabilitation", 4201, None, "2022-12-01", "36 CFR 220.6(e)(11)", NONE),
    Screening("rehabilitation", 100, None, "2025-08-01", "7 CFR 1b.4(d)(34)", "may fit"),
    Screening("rehabilitation", 100, None, "2025-08-02", "7 CFR 1b.4(d)(34)", NONE),
    Screening("live harvest", 70, 0.5, "2026-11-15", "7 CFR 1b.4(d)(35)", "may fit"),
    Screening("live harvest", 71, 0.5, "2026-11-15", "7 CFR 1b.4(d)(35)", NONE),
    Screening("restoration", 2800, None, "2026-11-15", "7 CFR 1b.4(d)(47)", "may fit"),
    Screening("stand improvement", 10, None, "2022-12-01", "36 CFR 220.6(e)(6)", "may fit"),
    Screening("stand improvement", 10, None, "2026-11-15", "7 CFR 1b.4(d)(30)", NONE),
)


@pytest.mark.parametrize("s", SCREENINGS, ids=lambda s: f"{s.activity} {s.acres} {s.day}")
def test_a_proposal_is_tried_against_the_rule_of_its_day(s: Screening) -> None:
    inputs = {"activity": s.activity, "acres": s.acres, "temp_road_miles": s.road}
    finding = screen_nepa(case(s.day), inputs)
    (row,) = finding.data["proposals"]

    assert (row["rule"], row["outcome"]) == (s.rule, s.outcome)


def test_a_rule_that_was_set_aside_gives_no_confidence() -> None:
    finding = screen_nepa(case("2026-11-15"), {"activity": "stand improvement", "acres": 10})

    assert finding.proof.confidence == 0
    assert "set aside by Oregon Wild v. U.S. Forest Service" in finding.headline


def test_the_proposals_of_the_scenario_by_hand() -> None:
    """Known inputs: P1 2 of 4, P2 and P3 all, P4 settled by its acres; each times .9 and .9."""
    finding = screen_nepa(case(), {})
    outcomes = {row["proposal_id"]: row["outcome"] for row in finding.data["proposals"]}

    assert outcomes == {"P1": "may fit", "P2": "fits", "P3": "fits", "P4": NONE}
    assert dict(finding.proof.parts) == pytest.approx(
        {"P1": 2 / 4 * 0.9 * 0.9, "P2": 0.9 * 0.9, "P3": 0.9 * 0.9, "P4": 0.9 * 0.9}, abs=1e-4
    )
    assert finding.proof.confidence == min(confidence for _, confidence in finding.proof.parts)


def test_each_proposal_has_its_basis_and_its_confidence() -> None:
    """One section each, as a reader of the text finds them; the total stands before them."""
    text = screen_nepa(case(), {}).text()
    total, *parts = text.split("#### ")
    found = [
        (
            part.split()[0],
            re.findall(r"\*\*Regulatory Basis:\*\* (\S+ CFR [^ ]+)", part),
            re.findall(r"\*\*Confidence:\*\*\s*(\d+)%", part),
        )
        for part in parts
    ]

    assert re.findall(r"\*\*Confidence:\*\*\s*(\d+)%", total) == ["40"]
    assert found == [
        ("P1", ["36 CFR 220.6(e)(13)"], ["40"]),
        ("P2", ["36 CFR 220.6(e)(11)"], ["81"]),
        ("P3", ["36 CFR 220.6(e)(1)"], ["81"]),
        ("P4", ["36 CFR 220.6(e)(13)"], ["81"]),
    ]


def test_the_acres_of_the_cruise_complete_a_proposal() -> None:
    before, after = (
        screen_nepa(case(), {}),
        screen_nepa(case(), {"proposal_id": "P1", "acres": 228}),
    )
    asked = [need for need in before.needs if need.request]

    assert [need.source for need in asked] == ["cruising_assistant.cruise_statistics"]
    assert not [need for need in after.needs if need.request]
    assert len(after.data["proposals"]) == 4
    assert (after.proof.confidence or 0) > (before.proof.confidence or 0)


def test_an_activity_alone_means_the_fires_own_proposals(folder: Folder) -> None:
    own = screen_nepa(folder.case(), {"activity": "salvage"})
    folder.path("proposals.csv").unlink()
    asked = screen_nepa(folder.case(), {"activity": "salvage"})

    assert [row["proposal_id"] for row in own.data["proposals"]] == ["P1", "P4"]
    assert [row["proposal_id"] for row in asked.data["proposals"]] == ["Q1"]
    assert not asked.synthetic


@pytest.mark.parametrize("day", ["2022-12-01", "2026-11-15"])
def test_every_advice_ends_as_a_screening_aid_with_a_page_to_verify(day: str) -> None:
    for finding in (screen_nepa(case(day), {}), check_citation(case(day), "36 CFR 220.6(e)(13)")):
        last = finding.text().splitlines()[-1]
        assert last.startswith("Screening aid, not legal advice; the responsible official decides.")
        assert "Verify: https://www.ecfr.gov/" in last


def test_the_document_has_the_name_of_its_time() -> None:
    assert "decision memo" in screen_nepa(case("2022-12-01"), {}).text()
    assert "FANEC" in screen_nepa(case("2026-11-15"), {}).text()


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({"activity": "mining"}, "no rule for the activity 'mining'"),
        ({"activity": "salvage", "acres": -5.0}, "acres is -5.0"),
        ({"activity": "salvage", "acres": float("nan")}, "acres is nan"),
        ({"proposal_id": "P9"}, "no proposal 'P9'"),
    ],
)
def test_inputs_that_make_no_sense_are_refused(inputs: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataProblem, match=complaint):
        screen_nepa(case(), inputs)


def test_the_table_of_rules_is_consistent() -> None:
    """Each successor is there and begins when its predecessor ends; each rule can be verified."""
    rules = {rule.citation: rule for rule in TABLE.rules}
    for rule in TABLE.rules:
        assert rule.verify.startswith("https://www.ecfr.gov/")
        assert rule.activity in TABLE.activities
        assert rule.regime in {regime.part for regime in TABLE.regimes}
        if rule.superseded_by:
            assert rules[rule.superseded_by].effective_from == rule.effective_to
            assert rules[rule.superseded_by].limits == rule.limits
    # Salvage is 250 acres and rehabilitation 4,200, and never the other way round.
    assert rules["36 CFR 220.6(e)(13)"].limits == {"acres": 250, "temp_road_miles": 0.5}
    assert rules["36 CFR 220.6(e)(11)"].limits == {"acres": 4200, "years_after_fire": 3}
