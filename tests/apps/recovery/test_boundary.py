"""The perimeter: geometry checked against shapes whose answers are known."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.apps.recovery.folders import Folder, case

from adk_prism_apps.recovery.library.problem import DataProblem
from adk_prism_apps.recovery.skills.baer import baer_clock
from adk_prism_apps.recovery.skills.boundary import check_boundary
from adk_prism_apps.recovery.skills.geometry import Polygon, acres, crosses_itself

SQUARE = [[-122.3, 43.6], [-122.0, 43.6], [-122.0, 43.9], [-122.3, 43.9], [-122.3, 43.6]]


def feature(rings: Any, kind: str = "Polygon") -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": rings}
    return {"type": "Feature", "properties": {}, "geometry": geometry}


def test_a_cell_of_the_graticule_has_the_area_of_its_zone() -> None:
    """Between two parallels, a sphere's area is R² x longitude x difference of the sines."""
    ring = ((10.0, 40.0), (11.0, 40.0), (11.0, 41.0), (10.0, 41.0), (10.0, 40.0))
    sines = math.sin(math.radians(41)) - math.sin(math.radians(40))
    by_hand = 6_371_007.2**2 * math.radians(1) * sines / 4_046.8564224

    assert acres([Polygon(ring)]) == pytest.approx(by_hand, rel=1e-9)


def test_a_hole_is_not_burned() -> None:
    outer = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (0.0, 0.0))
    hole = ((0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (0.5, 1.0), (0.5, 0.5))
    whole, holed = acres([Polygon(outer)]), acres([Polygon(outer, (hole,))])

    assert holed == pytest.approx(whole - acres([Polygon(hole)]))


def test_the_scenario_perimeter_passes_and_agrees_with_the_report() -> None:
    data = check_boundary(case()).data

    assert data["failed"] == []
    assert data["reported_acres"] == 127_311
    assert abs(data["difference_pct"]) < data["tolerance_pct"] == 5


def test_confidence_is_checks_times_agreement_times_synthetic() -> None:
    finding = check_boundary(case())
    by_hand = 1.0 * (1 - abs(finding.data["difference_pct"]) / 100) * 0.9

    assert finding.proof.confidence == pytest.approx(by_hand, abs=2e-4)


@dataclass(frozen=True)
class Broken:
    """A perimeter with one fault, and the check that finds it."""

    name: str
    features: list[dict[str, Any]]
    failed: str


BROKEN = (
    Broken("open", [feature([SQUARE[:-1]])], "closed"),
    Broken("two corners", [feature([[SQUARE[0], SQUARE[1], SQUARE[0]]])], "closed"),
    Broken(
        "bow tie",
        [feature([[SQUARE[0], SQUARE[2], SQUARE[1], SQUARE[3], SQUARE[0]]])],
        "no crossings",
    ),
    Broken("off the earth", [feature([[[x * 2, y] for x, y in SQUARE]])], "on earth"),
    Broken("elsewhere", [feature([[[x + 5, y] for x, y in SQUARE]])], "origin"),
    Broken("too large", [feature([[[x * 1.01, y * 1.01] for x, y in SQUARE]])], "origin"),
    Broken(
        "too small",
        [feature([[[-122.2, 43.7], [-122.1, 43.7], [-122.1, 43.8], [-122.2, 43.7]]])],
        "area",
    ),
)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_each_fault_is_found(folder: Folder, broken: Broken) -> None:
    document = {"type": "FeatureCollection", "features": broken.features}
    folder.path("perimeter.geojson").write_text(json.dumps(document))
    finding = check_boundary(folder.case())

    assert broken.failed in finding.data["failed"]
    assert "Failed:" in finding.text()


@dataclass(frozen=True)
class Malformed:
    """A file that is no perimeter at all, and the field that its message names."""

    name: str
    document: Any
    field: str = field(default="coordinates")


MALFORMED = (
    Malformed("a line", {"features": [feature([[0, 0], [1, 1]], "LineString")]}, "geometry.type"),
    Malformed(
        "no geometry", {"features": [{"type": "Feature", "geometry": None}]}, "geometry.type"
    ),
    Malformed("text", {"features": [feature([[["a", 1], ["b", 2]]])]}),
    Malformed("a number", {"features": [feature(7)]}),
    Malformed("no ring", {"features": [feature([])]}),
    Malformed("nothing", {"features": []}, "features"),
    Malformed("no features", {"features": 5}, "features"),
)


@pytest.mark.parametrize("malformed", MALFORMED, ids=lambda malformed: malformed.name)
def test_what_is_no_perimeter_names_its_field(folder: Folder, malformed: Malformed) -> None:
    folder.path("perimeter.geojson").write_text(json.dumps(malformed.document))
    with pytest.raises(DataProblem) as problem:
        check_boundary(folder.case())

    assert malformed.field in problem.value.field
    assert "perimeter.geojson" in problem.value.message


def test_a_bare_multipolygon_is_read(folder: Folder) -> None:
    document = {
        "type": "MultiPolygon",
        "coordinates": [[SQUARE], [[[x + 1, y] for x, y in SQUARE]]],
    }
    folder.path("perimeter.geojson").write_text(json.dumps(document))

    assert check_boundary(folder.case()).data["polygons"] == 2


def test_a_long_outline_is_searched_without_comparing_all_with_all() -> None:
    """Twenty thousand edges around a circle: a quadratic search would take minutes."""
    count = 20_000
    ring = tuple(
        (math.cos(2 * math.pi * i / count), math.sin(2 * math.pi * i / count)) for i in range(count)
    )
    assert not crosses_itself((*ring, ring[0]))


def test_without_a_containment_date_there_is_no_clock_and_no_confidence() -> None:
    finding = baer_clock(case())

    assert finding.proof.confidence is None
    assert "cannot be computed" in finding.headline
    assert "**Confidence:**" not in finding.text()


def test_with_a_containment_date_the_clock_runs_from_it(folder: Folder) -> None:
    folder.change_json("incident.json", lambda incident: incident.update(contained_on="2022-11-20"))
    finding = baer_clock(folder.case("2022-12-01"))

    assert [entry["until"] for entry in finding.data["dates"]] == [
        "2022-11-27",
        "2023-11-20",
        "2025-11-20",
    ]
    assert [entry["past"] for entry in finding.data["dates"]] == [True, False, False]
    assert "check current issuance" in finding.text()
