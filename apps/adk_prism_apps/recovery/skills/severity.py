"""Burn severity by sector: class, area by class, close calls and steep ground.

Confidence is *classification stability*: how surely the sectors' classes stand, by area, times how
much was seen through cloud, times the cost of sectors that nobody checked in the field and of rows
that are made up. It says nothing about whether dNBR measures what happened to the soil.
"""

from __future__ import annotations

from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..agent_names import BURN_ANALYST
from ..finding import Finding, Need
from ..library import Sheet
from ..library.records import Mtbs, Sector
from ..library.tables import Checks, SeverityScheme
from .case import Case
from .classes import classify, scheme_of_fire, stability

_BURNED = ("moderate", "high")


def assess_severity(case: Case) -> Finding:
    """Classify every sector and add up the acres."""
    sectors = case.folder.sectors()
    scheme, mtbs = fire_scheme(case)
    checks = case.tables.checks()
    rows = [_sector_row(row, scheme, checks) for row in sectors.rows]
    data = case.data | {
        "scheme": scheme.scheme,
        "units": scheme.units,
        "caution": scheme.caution,
        "assessment": sectors.note.assessment or "not stated",
        "sectors": rows,
        **_totals(rows),
    }
    return Finding(
        title="Burn severity",
        headline=_headline(data),
        body=_body(data),
        data=data,
        proof=Proof(
            factors=(_stability_factor(rows), *sector_factors(case, sectors)),
            citations=(sectors.citation(), *scheme_citations(case, scheme, mtbs)),
            reasoning=_reasoning(data),
        ),
        synthetic=confidence.any_synthetic(sectors, mtbs),
        actions=_actions(data),
        needs=tuple(_need(row) for row in rows if row["close_call"]),
    )


def fire_scheme(case: Case) -> tuple[SeverityScheme, Sheet[Mtbs] | None]:
    """Return the fire's severity scheme and the MTBS row that it comes from, if it has one."""
    mtbs = case.folder.mtbs()
    row = mtbs.rows[0] if mtbs is not None and mtbs.rows else None
    return scheme_of_fire(case.tables.severity(), row, "mtbs.csv"), mtbs


def severity_groups(case: Case) -> dict[str, str]:
    """Return each sector's severity group."""
    scheme, _ = fire_scheme(case)
    rows = case.folder.sectors().rows
    return {row.sector_id: classify(row.dnbr_mean, scheme).group for row in rows}


def scheme_citations(
    case: Case, scheme: SeverityScheme, mtbs: Sheet[Mtbs] | None
) -> tuple[Citation, ...]:
    """Return the citations of the classes that were used."""
    own = () if mtbs is None else (mtbs.citation(),)
    return (*own, case.tables.citation(scheme.citation))


def sector_factors(case: Case, sectors: Sheet[Sector]) -> tuple[Factor, ...]:
    """Return what weakens any finding about these sectors, weighted by their acres."""
    policy = case.tables.confidence()
    acres = [row.acres for row in sectors.rows]
    clear = [1 - row.cloud_pct / 100 for row in sectors.rows]
    checked = [row.field_checks > 0 for row in sectors.rows]
    extended = sectors.note.assessment in ("extended", "field-checked")
    unchecked = 0.0 if extended else 1 - _weighted(checked, acres)
    return (
        confidence.share("cloud_free", _weighted(clear, acres), "ground seen by the satellite"),
        confidence.weakness(
            policy,
            "not_field_checked",
            unchecked,
            "acres of an initial assessment in sectors without a field check",
        ),
        confidence.synthetic(policy, sectors),
    )


def _stability_factor(rows: list[dict[str, Any]]) -> Factor:
    stable = _weighted([row["stability"] for row in rows], [row["acres"] for row in rows])
    why = "distance to the nearest class break in spreads of the pixels, by acres"
    return confidence.share("classification_stability", stable, why)


def _weighted(values: list[Any], weights: list[float]) -> float:
    pairs = zip(values, weights, strict=True)
    return float(sum(value * weight for value, weight in pairs) / sum(weights))


def _sector_row(row: Sector, scheme: SeverityScheme, checks: Checks) -> dict[str, Any]:
    verdict = classify(row.dnbr_mean, scheme)
    steep = row.slope_pct is not None and row.slope_pct >= checks.steep_slope_pct
    known = verdict.nearest_break is not None
    return {
        "sector_id": row.sector_id,
        "name": row.name,
        "acres": row.acres,
        "dnbr_mean": row.dnbr_mean,
        "dnbr_sd": row.dnbr_sd,
        "class": verdict.name,
        "group": verdict.group,
        "nearest_break": verdict.nearest_break,
        "distance": round(verdict.distance, 1),
        "stability": round(stability(verdict.distance, row.dnbr_sd), 4) if known else 0.0,
        "close_call": known and verdict.distance < checks.close_call_sd * row.dnbr_sd,
        "steep": steep and verdict.group in checks.steep_groups,
        "slope_pct": row.slope_pct,
    }


def _totals(rows: list[dict[str, Any]]) -> dict[str, Any]:
    total = sum(row["acres"] for row in rows)
    by_class: dict[str, float] = {}
    for row in rows:
        by_class[row["class"]] = by_class.get(row["class"], 0) + row["acres"]
    burned = sum(row["acres"] for row in rows if row["group"] in _BURNED)
    return {
        "total_acres": total,
        "acres_by_class": by_class,
        "moderate_or_high_acres": burned,
        "moderate_or_high_pct": round(100 * burned / total, 1),
        "close_calls": [row["sector_id"] for row in rows if row["close_call"]],
        "steep_sectors": [row["sector_id"] for row in rows if row["steep"]],
    }


def _headline(data: dict[str, Any]) -> str:
    return (
        f"{data['moderate_or_high_pct']}% of {data['total_acres']:,.0f} acres in the sectors is "
        f"moderate or high severity by {data['scheme']}."
    )


def _body(data: dict[str, Any]) -> tuple[str, ...]:
    acres = ", ".join(f"{name} {area:,.0f}" for name, area in data["acres_by_class"].items())
    lines = [f"Acres by class: {acres}."]
    high = [
        f"{row['sector_id']} {row['name']}" for row in data["sectors"] if row["group"] == "high"
    ]
    if high:
        lines.append(f"High severity: {', '.join(high)}.")
    if data["steep_sectors"]:
        lines.append(f"Steep and burned (project-defined): {', '.join(data['steep_sectors'])}.")
    lines += [_close_line(row) for row in data["sectors"] if row["close_call"]]
    return (*lines, data["caution"])


def _close_line(row: dict[str, Any]) -> str:
    return (
        f"Close call: {row['sector_id']} is {row['class']} at {row['dnbr_mean']:g}, "
        f"{row['distance']:g} from the break at {row['nearest_break']:g} "
        f"with a spread of {row['dnbr_sd']:g}."
    )


def _reasoning(data: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"Read {len(data['sectors'])} sectors with {data['total_acres']:,.0f} acres.",
        f"Classified each mean dNBR by {data['scheme']}.",
        f"Added up {data['moderate_or_high_acres']:,.0f} acres of moderate and high severity.",
        "Compared each sector's distance to the nearest break with the spread of its pixels.",
    )


def _actions(data: dict[str, Any]) -> tuple[str, ...]:
    actions = []
    if data["steep_sectors"]:
        sectors = ", ".join(data["steep_sectors"])
        actions.append(f"Look first at slopes and drainages in {sectors}: steep and burned.")
    if data["close_calls"]:
        sectors = ", ".join(data["close_calls"])
        actions.append(f"Check {sectors} in the field: the class is a close call.")
    return tuple(actions)


def _need(row: dict[str, Any]) -> Need:
    return Need(
        question=f"How does {row['sector_id']} divide between its classes?",
        of=BURN_ANALYST,
        request=f"follow_up:examine_sector sector:{row['sector_id']}",
        met_by=f"{BURN_ANALYST}.examine_sector.{row['sector_id']}",
    )
