"""Text, data, confidence and citation hash come from the same rows: one value changes them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.apps.recovery.folders import Folder

from adk_prism_apps.recovery.finding import Finding
from adk_prism_apps.recovery.skills.baer import baer_clock
from adk_prism_apps.recovery.skills.boundary import check_boundary
from adk_prism_apps.recovery.skills.case import Case
from adk_prism_apps.recovery.skills.citation import check_citation
from adk_prism_apps.recovery.skills.closure import evaluate_closures, rank_trails
from adk_prism_apps.recovery.skills.cruise import cruise_statistics
from adk_prism_apps.recovery.skills.damage import classify_damage
from adk_prism_apps.recovery.skills.pathway import screen_nepa
from adk_prism_apps.recovery.skills.salvage import assess_salvage
from adk_prism_apps.recovery.skills.sector import examine_sector
from adk_prism_apps.recovery.skills.severity import assess_severity


@dataclass(frozen=True)
class Change:
    """A skill, and one value of a file that it reads."""

    skill: Callable[[Case], Finding]
    file: str
    row: int
    column: str
    value: str


CHANGES = (
    Change(assess_severity, "sectors.csv", 0, "dnbr_mean", "265"),
    Change(assess_severity, "sectors.csv", 8, "acres", "9500"),
    Change(classify_damage, "trail_segments.csv", 0, "surveyed_on", ""),
    Change(evaluate_closures, "trail_segments.csv", 8, "surveyed_on", ""),
    Change(rank_trails, "trails.csv", 3, "visits_per_year", ""),
    Change(cruise_statistics, "cruise_trees.csv", 0, "dbh_in", "12.0"),
    Change(assess_salvage, "cruise_trees.csv", 2, "species", "THPL"),
    Change(lambda case: screen_nepa(case, {}), "proposals.csv", 0, "acres", "228"),
    Change(lambda case: examine_sector(case, "S06"), "sectors.csv", 5, "cloud_pct", "40"),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: f"{c.file} {c.column} {c.value}")
def test_one_value_changes_text_data_confidence_and_hash_together(
    folder: Folder, change: Change
) -> None:
    before = change.skill(folder.case())
    folder.set_cell(change.file, change.row, change.column, change.value)
    after = change.skill(folder.case())

    assert after.text() != before.text()
    assert after.proof.confidence != before.proof.confidence
    assert _hashes(after, change.file) != _hashes(before, change.file)
    if change.column != "cloud_pct":  # It weakens the finding and is no part of what was found.
        assert after.data != before.data


SKILLS: tuple[Callable[[Case], Finding], ...] = (
    assess_severity,
    lambda case: examine_sector(case, "S06"),
    check_boundary,
    baer_clock,
    classify_damage,
    evaluate_closures,
    rank_trails,
    cruise_statistics,
    assess_salvage,
    lambda case: screen_nepa(case, {}),
    lambda case: check_citation(case, "36 CFR 220.6(e)(13)"),
)


@pytest.mark.parametrize("day", ["", "2023-09-30", "2026-11-15"])
@pytest.mark.parametrize("skill", SKILLS)
def test_the_text_says_the_confidence_of_the_proof(
    folder: Folder, skill: Callable[[Case], Finding], day: str
) -> None:
    """What a parser reads from the text is what the proof layer says: the total first, then each part."""
    finding = skill(folder.case(day))
    response = finding.response()
    said = re.findall(r"^\*\*Confidence:\*\* (\d+)%$", response["result"], re.MULTILINE)
    layer = response["proof_layer"]

    if "confidence" not in layer:
        assert said == []
        return
    numbers = [layer["confidence"], *layer.get("confidence_by_part", {}).values()]
    assert said == [f"{number:.0%}".rstrip("%") for number in numbers]
    product = 1.0
    for factor in layer["confidence_factors"]:
        assert factor["why"]
        product *= factor["effect"]
    assert layer["confidence"] == pytest.approx(product, abs=2e-4)


@pytest.mark.parametrize("skill", SKILLS)
def test_every_number_in_the_text_is_in_the_data_or_the_proof(
    folder: Folder, skill: Callable[[Case], Finding]
) -> None:
    """No template has a number of its own."""
    response = skill(folder.case()).response()
    known = _numbers([response["data"], response["proof_layer"]])
    known |= {round(value * scale, 4) for value in known for scale in (100, -1)}
    # Years of publications and numbers inside names are words, not results.
    text = re.sub(r"\*\*Source:\*\*.*|https?://\S+", "", response["result"])
    said = {float(n.replace(",", "")) for n in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text)}

    unknown = {n for n in said if not any(_rounds_to(value, n) for value in known)}
    assert unknown - _FIXED == set()


# The damage scale (D1 to D4 and Trail Class 1 to 5), the level of an error and a manual's number.
_FIXED = {1.0, 5.0, 95.0, 2523.0}


def _hashes(finding: Finding, file: str) -> list[str]:
    return [c.hash for c in finding.proof.citations if c.reference.startswith(file)]


def _numbers(value: Any) -> set[float]:
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        return {float(value)}
    if isinstance(value, str):
        return {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", value)}
    if isinstance(value, dict):
        inner = set().union(*map(_numbers, value.values())) if value else set()
        return inner | {float(len(value))}
    found = set().union(*map(_numbers, value)) if value else set()
    return found | {float(len(value))}


def _rounds_to(value: float, said: float) -> bool:
    return any(abs(round(value, digits) - said) < 1e-9 for digits in (0, 1, 2, 3))
