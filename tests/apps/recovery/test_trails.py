"""Trail damage, closures and the order of repair, by rules that a reader can follow."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.apps.recovery.folders import Folder, bundled_rows, case

from adk_prism_apps.recovery.library.problem import DataProblem
from adk_prism_apps.recovery.skills.closure import evaluate_closures, rank_trails
from adk_prism_apps.recovery.skills.damage import classify_damage


@dataclass(frozen=True)
class Damage:
    """What was seen on T04-A, and the class that follows."""

    tread: str
    structure: str
    state: str
    name: str


DAMAGE = (
    Damage("0", "", "", "D1"),
    Damage("4.9", "", "", "D1"),
    Damage("5", "", "", "D2"),
    Damage("0", "culvert", "damaged", "D2"),
    Damage("0", "culvert", "failed", "D3"),
    Damage("25", "", "", "D3"),
    Damage("0", "bridge", "damaged", "D3"),
    Damage("50", "", "", "D4"),
    Damage("0", "bridge", "failed", "D4"),
    Damage("60", "culvert", "damaged", "D4"),
    Damage("0", "bridge", "intact", "D1"),
)


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: f"{d.tread}-{d.structure}-{d.state}")
def test_the_first_rule_that_fits_gives_the_class(folder: Folder, damage: Damage) -> None:
    place = [row["segment_id"] for row in bundled_rows("trail_segments.csv")].index("T04-A")
    folder.set_cell("trail_segments.csv", place, "tread_loss_pct", damage.tread)
    folder.set_cell("trail_segments.csv", place, "structure", damage.structure)
    folder.set_cell("trail_segments.csv", place, "structure_state", damage.state)
    finding = classify_damage(folder.case(), "T04")

    assert [row["class"] for row in finding.data["segments"]] == [damage.name]
    assert finding.data["scheme"] == "project-defined"


def test_miles_and_confidence_by_hand() -> None:
    """24.7 of 27.2 miles were seen, 34 to 37 days before: the share times nine tenths."""
    finding = classify_damage(case())

    assert (finding.data["surveyed_miles"], finding.data["miles"]) == (24.7, 27.2)
    assert finding.data["miles_by_class"] == {"D1": 7.6, "D2": 11.9, "D3": 2.2, "D4": 3.0}
    assert finding.proof.confidence == pytest.approx(24.7 / 27.2 * 0.9, abs=2e-4)


def test_an_old_survey_counts_in_proportion() -> None:
    """A survey counts in full for 180 days; each segment then counts 180 / its age."""
    finding = classify_damage(case("2023-12-01"))
    ages = {"2022-10-25": 402, "2022-10-26": 401, "2022-10-27": 400, "2022-10-28": 399}
    seen = [row["surveyed_on"] for row in bundled_rows("trail_segments.csv") if row["surveyed_on"]]
    by_hand = sum(180 / ages[day] for day in seen) / len(seen)
    (factor,) = [f for f in finding.proof.factors if f.name == "data_age"]

    assert factor.effect == pytest.approx(by_hand, abs=1e-4)


def test_closures_follow_the_table() -> None:
    finding = evaluate_closures(case())
    status = {row["trail_id"]: row["status"] for row in finding.data["trails"]}

    # T01: 26 trees on 2 miles of moderate-high ground; T02: a failed bridge; T03: a failed culvert.
    assert status == {
        "T01": "close",
        "T02": "close",
        "T03": "caution",
        "T04": "open",
        "T05": "open",
    }
    assert finding.actions == ("Close T01, T02.", "Post warnings on T03.")


def test_hazard_trees_close_a_trail_only_on_burned_ground(folder: Folder) -> None:
    """More than ten a mile: closed where severity is moderate or high, a warning elsewhere."""
    place = [row["segment_id"] for row in bundled_rows("trail_segments.csv")].index("T04-A")
    folder.set_cell("trail_segments.csv", place, "hazard_trees", "32")
    elsewhere = evaluate_closures(folder.case(), "T04").data["trails"][0]["status"]
    folder.set_cell("trail_segments.csv", place, "sector_id", "S05")
    burned = evaluate_closures(folder.case(), "T04").data["trails"][0]["status"]

    assert (elsewhere, burned) == ("caution", "close")


def test_a_trail_with_unseen_miles_is_never_open(folder: Folder) -> None:
    place = [row["segment_id"] for row in bundled_rows("trail_segments.csv")].index("T04-A")
    folder.set_cell("trail_segments.csv", place, "surveyed_on", "")
    row = evaluate_closures(folder.case(), "T04").data["trails"][0]

    assert (row["status"], row["unsurveyed_miles"]) == ("not known", 3.1)


def test_trails_are_judged_without_the_sectors_at_a_cost(folder: Folder) -> None:
    """Without sectors one closure rule cannot be tried; the confidence says so."""
    folder.path("sectors.csv").unlink()
    finding = evaluate_closures(folder.case())

    assert {row["trail_id"]: row["status"] for row in finding.data["trails"]}["T01"] == "caution"
    assert finding.proof.confidence == pytest.approx(24.7 / 27.2 * 0.9 * 0.9, abs=2e-4)


def test_the_order_of_repair() -> None:
    """Closed before open, worse before better, longer damage, then more visits."""
    ranked = rank_trails(case()).data["trails"]
    assert [row["trail_id"] for row in ranked] == ["T02", "T01", "T03", "T05", "T04"]


def test_a_trail_is_found_by_its_name_and_an_unknown_one_is_said_to_be() -> None:
    assert evaluate_closures(case(), "lakeshore loop").data["trails"][0]["trail_id"] == "T01"
    with pytest.raises(DataProblem, match="no trail 'T99'"):
        evaluate_closures(case(), "T99")


def test_an_unseen_segment_is_a_question_for_a_person() -> None:
    (need,) = classify_damage(case()).needs
    assert "T02-C" in need.question
    assert not need.request
