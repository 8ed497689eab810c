"""Burn severity, recomputed by hand from the data file."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from tests.apps.recovery.folders import Folder, bundled_rows, case

from adk_prism_apps.recovery.library.folder import BUNDLED
from adk_prism_apps.recovery.library.problem import DataProblem
from adk_prism_apps.recovery.library.reference import ReferenceTables
from adk_prism_apps.recovery.skills.classes import classify
from adk_prism_apps.recovery.skills.sector import examine_sector
from adk_prism_apps.recovery.skills.severity import assess_severity

BREAKS = (-250, -100, 100, 270, 440, 660)


def phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


@dataclass(frozen=True)
class Value:
    """A dNBR value (x 1000) and its class in Key and Benson's table."""

    dnbr: float
    name: str


VALUES = (
    Value(-500, "enhanced regrowth, high"),
    Value(-251, "enhanced regrowth, high"),
    Value(-250, "enhanced regrowth, low"),
    Value(-101, "enhanced regrowth, low"),
    Value(-100, "unburned"),
    Value(99, "unburned"),
    Value(100, "low"),
    Value(269, "low"),
    Value(270, "moderate-low"),
    Value(439, "moderate-low"),
    Value(440, "moderate-high"),
    Value(659, "moderate-high"),
    Value(660, "high"),
    Value(1300, "high"),
    Value(1301, "outside the scheme"),
    Value(-501, "outside the scheme"),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value.dnbr))
def test_classes_begin_and_end_where_the_source_says(value: Value) -> None:
    scheme = ReferenceTables(BUNDLED).severity()
    assert classify(value.dnbr, scheme).name == value.name


def test_areas_add_up_to_the_reported_size_and_the_reported_share() -> None:
    """The sectors add up to the reported acres; moderate and high are 36 % of them."""
    rows = bundled_rows("sectors.csv")
    burned = sum(float(row["acres"]) for row in rows if float(row["dnbr_mean"]) >= 270)
    data = assess_severity(case()).data

    assert data["total_acres"] == 127_311 == sum(float(row["acres"]) for row in rows)
    assert data["moderate_or_high_acres"] == burned == 45_832
    assert data["moderate_or_high_pct"] == 36.0
    assert data["acres_by_class"]["high"] == 9_874 + 11_904


def test_confidence_is_the_product_of_its_factors_by_hand() -> None:
    rows = bundled_rows("sectors.csv")
    acres = [float(row["acres"]) for row in rows]
    total = sum(acres)
    firm = sum(
        area * phi(min(abs(float(row["dnbr_mean"]) - b) for b in BREAKS) / float(row["dnbr_sd"]))
        for area, row in zip(acres, rows, strict=True)
    )
    clear = sum(a * (1 - float(r["cloud_pct"]) / 100) for a, r in zip(acres, rows, strict=True))
    unchecked = sum(a for a, r in zip(acres, rows, strict=True) if r["field_checks"] == "0")
    by_hand = firm / total * clear / total * (1 - 0.1 * unchecked / total) * 0.9

    assert assess_severity(case()).proof.confidence == pytest.approx(by_hand, abs=2e-4)


def test_a_close_call_asks_for_a_second_look() -> None:
    """S06 lies 8 from the break at 660 with a spread of 71: it is the only close call."""
    finding = assess_severity(case())
    (need,) = finding.needs

    assert finding.data["close_calls"] == ["S06"]
    assert (need.of, need.request) == ("burn_analyst", "follow_up:examine_sector sector:S06")


def test_a_sector_divides_as_the_normal_distribution_does() -> None:
    data = examine_sector(case(), "S06").data
    below = phi((660 - 652) / 71)

    assert data["expected_shares"]["high"] == pytest.approx(1 - below, abs=1e-4)
    assert data["expected_shares"]["moderate-high"] == pytest.approx(
        below - phi((440 - 652) / 71), abs=1e-4
    )
    assert (data["class_one_sd_lower"], data["class_one_sd_higher"]) == ("moderate-high", "high")


def test_an_unknown_sector_is_named_with_those_there_are() -> None:
    with pytest.raises(DataProblem, match=r"no sector 'S99'.*S01, S02"):
        examine_sector(case(), "S99")


def test_text_calls_the_scheme_indicative_and_the_data_synthetic() -> None:
    text = assess_severity(case()).text()

    assert text.startswith("### Burn severity (synthetic)")
    assert "Key & Benson indicative classes" in text
    assert "not an MTBS thematic class" in text


def test_the_analysts_thresholds_of_mtbs_take_over(folder: Folder) -> None:
    """With MTBS's own row, its thresholds classify; 9999 stands for one that was not used."""
    folder.path("mtbs.csv").write_text(
        "Event_ID,Incid_Name,Asmnt_Type,BurnBndAc,IncGreen_T,Low_T,Mod_T,High_T\n"
        "OR4372612216720220801,CEDAR CREEK,Initial,127000,-150,90,300,700\n"
    )
    folder.change_json("sources.json", lambda notes: notes.update({"mtbs.csv": _NOTE}))
    finding = assess_severity(folder.case())
    classes = {row["sector_id"]: row["class"] for row in finding.data["sectors"]}

    assert finding.data["scheme"] == "MTBS thresholds of OR4372612216720220801"
    assert (classes["S06"], classes["S03"], classes["S08"]) == (
        "moderate",
        "high",
        "unburned to low",
    )
    assert "Monitoring Trends in Burn Severity (MTBS)" in finding.text()


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("X,Y,Initial (SS),1,-150,90,300,700", "single-scene"),
        ("X,Y,Initial,1,-150,300,90,700", "have to rise"),
        ("X,Y,Initial,1,9999,-9999,999,-999", "have to rise"),
    ],
    ids=["single scene", "falling", "unused"],
)
def test_thresholds_that_cannot_be_used_are_refused(
    folder: Folder, row: str, complaint: str
) -> None:
    header = "Event_ID,Incid_Name,Asmnt_Type,BurnBndAc,IncGreen_T,Low_T,Mod_T,High_T\n"
    folder.path("mtbs.csv").write_text(f"{header}{row}\n")
    folder.change_json("sources.json", lambda notes: notes.update({"mtbs.csv": _NOTE}))

    with pytest.raises(DataProblem, match=complaint):
        assess_severity(folder.case())


_NOTE = {"source": "MTBS", "reference": "test", "synthetic": False, "dated": "2023-05-01"}
