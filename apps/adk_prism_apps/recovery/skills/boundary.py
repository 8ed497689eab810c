"""Is the perimeter usable: closed, on the earth, not crossing itself, as large as reported?

Confidence: the share of checks that passed, times how well the mapped area agrees with the reported
one, times the cost of a made-up outline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..finding import Finding
from ..library import DataProblem, Sheet
from ..library.tables import Checks
from .case import Case
from .geojson import polygons_of
from .geometry import (
    Polygon,
    Ring,
    acres,
    contains,
    crosses_itself,
    is_closed,
    on_earth,
)

Check = dict[str, Any]


def check_boundary(case: Case) -> Finding:
    """Check the perimeter against itself, the reported acres, the origin and the sectors."""
    perimeter = case.folder.perimeter()
    polygons = polygons_of(perimeter.rows)
    if not polygons:
        text = "perimeter.geojson: `features` has no polygon."
        raise DataProblem("malformed file", text, file=perimeter.file, field="features")
    limits = case.tables.checks()
    mapped = round(acres(polygons), 1)
    checks = [*_shape_checks(polygons), *_place_checks(case, polygons, mapped, limits)]
    data = case.data | {
        "polygons": len(polygons),
        "positions": sum(len(ring) for polygon in polygons for ring in polygon.rings),
        "mapped_acres": mapped,
        "reported_acres": case.incident.acres,
        "difference_pct": round(100 * (mapped / case.incident.acres - 1), 2),
        "tolerance_pct": 100 * limits.area_tolerance,
        "checks": checks,
        "failed": [check["check"] for check in checks if check["passed"] is False],
    }
    return Finding(
        title="Fire boundary",
        headline=_headline(data),
        body=tuple(f"{_mark(check)}: {check['detail']}." for check in checks),
        data=data,
        proof=Proof(
            factors=_factors(case, perimeter, data),
            citations=(
                perimeter.citation(),
                incident_citation(case),
                case.tables.citation("sphere-area"),
            ),
            reasoning=(
                f"Read {data['positions']} positions of {data['polygons']} polygons.",
                "Measured their area on a sphere of the earth's surface.",
                f"Compared it with the {case.incident.acres:,.0f} acres that were reported.",
            ),
        ),
        synthetic=perimeter.synthetic,
        actions=_actions(data),
    )


def incident_citation(case: Case) -> Citation:
    """Return the source of the fire's reported size: that of its latest growth entry."""
    latest = max(case.incident.growth, key=lambda growth: growth.date, default=None)
    names = [latest.source] if latest else list(case.incident.sources)[:1]
    for name in names:
        reference = case.incident.sources[name]
        return Citation(reference.source, reference.reference, reference.uri)
    return Citation(case.incident.name, "incident.json")


def _shape_checks(polygons: Sequence[Polygon]) -> list[Check]:
    rings = [ring for polygon in polygons for ring in polygon.rings]
    closed = sum(is_closed(ring) for ring in rings)
    placed = sum(on_earth(ring) for ring in rings)
    count = len(rings)
    return [
        _check("closed", closed == count, f"closed rings: {closed} of {count}"),
        _check(
            "on earth",
            placed == count,
            f"rings within the earth's coordinates: {placed} of {count}",
        ),
        _crossing_check(rings),
    ]


def _crossing_check(rings: Sequence[Ring]) -> Check:
    crossing = sum(crosses_itself(ring) for ring in rings)
    return _check("no crossings", crossing == 0, f"rings that cross themselves: {crossing}")


def _place_checks(
    case: Case, polygons: Sequence[Polygon], mapped: float, limits: Checks
) -> list[Check]:
    incident = case.incident
    difference = abs(mapped / incident.acres - 1)
    origin = contains(polygons, (incident.longitude, incident.latitude))
    area = f"mapped {mapped:,.0f} acres, reported {incident.acres:,.0f}"
    return [
        _check("area", difference <= limits.area_tolerance, area),
        _check("origin", origin, f"the origin lies {'inside' if origin else 'outside'}"),
        _sector_check(case, limits),
    ]


def _sector_check(case: Case, limits: Checks) -> Check:
    try:
        total = sum(row.acres for row in case.folder.sectors().rows)
    except DataProblem as problem:
        return _check(
            "sectors", None, f"the sectors cannot be compared, {problem.message.rstrip('.')}"
        )
    close = abs(total / case.incident.acres - 1) <= limits.area_tolerance
    return _check("sectors", close, f"the sectors add up to {total:,.0f} acres")


def _check(name: str, passed: bool | None, detail: str) -> Check:
    return {"check": name, "passed": passed, "detail": detail}


def _mark(check: Check) -> str:
    return {True: "Passed", False: "Failed", None: "Not checked"}[check["passed"]]


def _factors(case: Case, perimeter: Sheet[Any], data: dict[str, Any]) -> tuple[Factor, ...]:
    passed = sum(check["passed"] is True for check in data["checks"]) / len(data["checks"])
    agreement = 1 - abs(data["difference_pct"]) / 100
    policy = case.tables.confidence()
    return (
        confidence.share("checks_passed", passed, "share of the boundary checks that passed"),
        confidence.share("area_agreement", agreement, "mapped against reported acres"),
        confidence.synthetic(policy, perimeter),
    )


def _headline(data: dict[str, Any]) -> str:
    failed = data["failed"]
    verdict = f"fails {', '.join(failed)}" if failed else "passes every check that could be made"
    return (
        f"The perimeter {verdict}: {data['mapped_acres']:,.0f} acres mapped, "
        f"{data['difference_pct']:+.1f}% against the report."
    )


def _actions(data: dict[str, Any]) -> tuple[str, ...]:
    failed = ", ".join(data["failed"])
    return (f"Correct the perimeter before it is used: {failed}.",) if failed else ()
