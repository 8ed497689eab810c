"""One sector in detail: its share of each severity class, and what would change its class.

The finding is the division itself, so that how close the call was does not lower its confidence.
"""

from __future__ import annotations

from typing import Any

from adk_prism.proof import Proof

from .. import confidence
from ..finding import Finding
from ..library import DataProblem, Sheet
from ..library.records import Sector
from .case import Case
from .classes import classify, shares
from .severity import fire_scheme, scheme_citations, sector_factors

# Below this a class has no part worth naming.
_SMALL = 0.01


def examine_sector(case: Case, sector_id: str) -> Finding:
    """Spread the sector's pixels over the classes; raise `DataProblem` for one that is not there."""
    sectors = case.folder.sectors()
    row = _find(sectors, sector_id)
    scheme, mtbs = fire_scheme(case)
    expected = {
        name: round(part, 4)
        for name, part in shares(row.dnbr_mean, row.dnbr_sd, scheme).items()
        if part >= _SMALL
    }
    data = case.data | {
        "scheme": scheme.scheme,
        "sector_id": row.sector_id,
        "name": row.name,
        "acres": row.acres,
        "dnbr_mean": row.dnbr_mean,
        "dnbr_sd": row.dnbr_sd,
        "class": classify(row.dnbr_mean, scheme).name,
        "class_one_sd_lower": classify(row.dnbr_mean - row.dnbr_sd, scheme).name,
        "class_one_sd_higher": classify(row.dnbr_mean + row.dnbr_sd, scheme).name,
        "expected_shares": expected,
        "field_checks": row.field_checks,
    }
    only = Sheet(sectors.file, (row,), sectors.note)
    return Finding(
        title=f"Sector {row.sector_id}",
        headline=_headline(data),
        body=_body(data),
        data=data,
        proof=Proof(
            factors=sector_factors(case, only),
            citations=(sectors.citation(), *scheme_citations(case, scheme, mtbs)),
            reasoning=(
                f"Took the mean {row.dnbr_mean:g} and the spread {row.dnbr_sd:g} of {row.sector_id}.",
                "Spread the pixels normally over the classes.",
                "Moved the mean by one spread in each direction and classified it again.",
            ),
        ),
        synthetic=confidence.any_synthetic(only, mtbs),
    )


def _find(sectors: Sheet[Sector], sector_id: str) -> Sector:
    for row in sectors.rows:
        if row.sector_id.lower() == sector_id.strip().lower():
            return row
    known = ", ".join(row.sector_id for row in sectors.rows)
    text = f"There is no sector {sector_id[:40]!r} in sectors.csv. It has: {known}."
    raise DataProblem("bad argument", text, file="sectors.csv", field="sector_id")


def _headline(data: dict[str, Any]) -> str:
    parts = ", ".join(f"{part:.0%} {name}" for name, part in data["expected_shares"].items())
    return (
        f"{data['sector_id']} {data['name']} is {data['class']} by its mean dNBR of "
        f"{data['dnbr_mean']:g}; expected on the ground: {parts or 'no class of the scheme'}."
    )


def _body(data: dict[str, Any]) -> tuple[str, ...]:
    lower, higher = data["class_one_sd_lower"], data["class_one_sd_higher"]
    moved = f"One spread lower it would be {lower}, one higher {higher}."
    checks = data["field_checks"]
    seen = f"Field checks: {checks}." if checks else "Nobody has checked it in the field."
    return moved, seen
