"""Cruise statistics of variable-radius plots, by unit and for all units together.

Standard formulas of timber cruising (FSH 2409.12): a tree of diameter d inches has a basal area of
0.005454 d² square feet; each tallied tree stands for BAF / basal area trees an acre; a plot's basal
area is BAF times its count. Per unit: mean, standard deviation, coefficient of variation, standard
error and the sampling error t x SE at 95 %; plots needed for the allowed error, (t x CV / E)².
Units are strata: the total's standard error is the root of the sum of (acres x SE)², with as many
degrees of freedom as all units have. Board feet are those of the tally; no volume equation is used.

Confidence: one minus the total's sampling error, times the share of acres with at least two plots,
times the cruise's age, times the cost of made-up rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..finding import Finding
from ..library import DataProblem, Sheet
from ..library.records import Tree, Unit
from .case import Case

_SQUARE_FEET_PER_SQUARE_INCH = 0.005454
_FEWEST_PLOTS = 2


class Cruise:
    """The tally of a fire, for one unit or for all."""

    def __init__(self, case: Case, unit_id: str = "") -> None:
        """Read the files; raise `DataProblem` for a unit that is not there."""
        units = case.folder.units()
        trees = case.folder.trees(units.rows)
        wanted = unit_id.strip().lower()
        kept = tuple(row for row in units.rows if wanted in ("", row.unit_id.lower()))
        if not kept:
            known = ", ".join(row.unit_id for row in units.rows)
            text = f"There is no unit {unit_id[:40]!r} in cruise_units.csv. It has: {known}."
            raise DataProblem("bad argument", text, file="cruise_units.csv", field="unit_id")
        ids = {row.unit_id for row in kept}
        inside = tuple(row for row in trees.rows if row.unit_id in ids)
        self.case = case
        self.units = Sheet(units.file, kept, units.note)
        self.trees = Sheet(trees.file, inside, trees.note)
        self._table = case.tables.student_t()

    def plots(self, unit: Unit) -> list[list[Tree]]:
        """Return the trees of each plot of a unit; a plot can be empty."""
        plots: dict[str, list[Tree]] = defaultdict(list)
        for row in self.trees.rows:
            if row.unit_id == unit.unit_id:
                plots[row.plot_id] += [row] if row.species else []
        return [plots[name] for name in sorted(plots)]

    def t95(self, df: int) -> float:
        """Return Student's t at 95 %; past the table's end its last value, which errs wide."""
        return max(self._table, key=lambda row: row.df if row.df <= df else -1).t95

    def volume(self, unit: Unit) -> Sample:
        """Return the net board feet an acre of each plot of a unit."""
        return Sample([sum(net_bf(tree, unit.baf) for tree in plot) for plot in self.plots(unit)])

    def statistics(self) -> list[dict[str, Any]]:
        """Return the statistics of each unit."""
        return [self._unit(unit) for unit in self.units.rows]

    def citations(self) -> tuple[Citation, ...]:
        tables = self.case.tables
        published = (tables.citation("fsh-2409-12"), tables.citation("student-t"))
        return self.units.citation(), self.trees.citation(), *published

    def _unit(self, unit: Unit) -> dict[str, Any]:
        plots = self.plots(unit)
        volume = self.volume(unit)
        counted = Sample([unit.baf * len(plot) for plot in plots])
        stems = Sample([sum(trees_per_acre(tree, unit.baf) for tree in plot) for plot in plots])
        row: dict[str, Any] = {
            "unit_id": unit.unit_id,
            "name": unit.name,
            "acres": unit.acres,
            "plots": volume.size,
            "basal_area_sqft_per_acre": round(counted.mean, 1),
            "trees_per_acre": round(stems.mean, 1),
            "net_bf_per_acre": round(volume.mean, 1),
            "net_mbf": round(volume.mean * unit.acres / 1000, 1),
            "allowed_error_pct": unit.allowed_error_pct,
        }
        return row | self._errors(volume, unit.allowed_error_pct)

    def _errors(self, volume: Sample, allowed: float | None) -> dict[str, Any]:
        names = ("cv_pct", "se_bf_per_acre", "se_pct", "t95", "sampling_error_pct")
        if not volume.has_error:
            return dict.fromkeys((*names, "plots_needed", "error_met"))
        t95 = self.t95(volume.size - 1)
        cv = 100 * volume.sd / volume.mean
        error = t95 * 100 * volume.se / volume.mean
        return {
            "cv_pct": round(cv, 1),
            "se_bf_per_acre": round(volume.se, 1),
            "se_pct": round(100 * volume.se / volume.mean, 1),
            "t95": t95,
            "sampling_error_pct": round(error, 1),
            "plots_needed": math.ceil((t95 * cv / allowed) ** 2) if allowed else None,
            "error_met": error <= allowed if allowed else None,
        }


class Sample:
    """Some numbers with their mean, standard deviation (n - 1) and standard error."""

    def __init__(self, values: Sequence[float]) -> None:
        self.size = len(values)
        self.mean = fmean(values) if values else 0.0
        self.sd = stdev(values) if self.size >= _FEWEST_PLOTS else 0.0
        self.se = self.sd / math.sqrt(self.size) if values else 0.0

    @property
    def has_error(self) -> bool:
        """Whether a relative error can be computed: enough numbers, and not all of them zero."""
        return self.size >= _FEWEST_PLOTS and self.mean > 0


def cruise_statistics(case: Case, unit_id: str = "") -> Finding:
    """Compute basal area, trees per acre, volume and their errors."""
    cruise = Cruise(case, unit_id)
    rows = cruise.statistics()
    data = case.data | {"units": rows, **total(cruise)}
    return Finding(
        title="Cruise statistics",
        headline=_headline(data),
        body=tuple(line for row in rows for line in _lines(row)),
        data=data,
        proof=Proof(
            factors=cruise_factors(cruise, data),
            citations=cruise.citations(),
            reasoning=(
                f"Read {len(cruise.trees.rows)} rows of {len(rows)} units.",
                "Expanded each tree by BAF over its basal area, plot by plot.",
                "Took mean, variation and standard error over the plots of a unit.",
                "Added the units up as strata.",
            ),
        ),
        synthetic=confidence.any_synthetic(cruise.units, cruise.trees),
        actions=tuple(_actions(rows)),
        gives={"acres": data["acres"]},
    )


def total(cruise: Cruise) -> dict[str, Any]:
    """Return acres, volume and sampling error of all units as strata."""
    strata = [(unit.acres, cruise.volume(unit)) for unit in cruise.units.rows]
    known = [(acres, volume) for acres, volume in strata if volume.has_error]
    expected = sum(acres * volume.mean for acres, volume in known)
    result = {
        "acres": sum(acres for acres, _ in strata),
        "acres_with_error": sum(acres for acres, _ in known),
        "total_net_mbf": round(sum(acres * volume.mean for acres, volume in strata) / 1000, 1),
        "total_sampling_error_pct": None,
    }
    if known:
        se = math.sqrt(sum((acres * volume.se) ** 2 for acres, volume in known))
        t95 = cruise.t95(sum(volume.size - 1 for _, volume in known))
        result["total_sampling_error_pct"] = round(100 * t95 * se / expected, 1)
    return result


def cruise_factors(cruise: Cruise, data: dict[str, Any]) -> tuple[Factor, ...]:
    """Return what weakens anything that is computed from the tally."""
    policy = cruise.case.tables.confidence()
    error = data["total_sampling_error_pct"]
    precise = 0.0 if error is None else 1 - error / 100
    return (
        confidence.share("precision", precise, "one minus the sampling error of the volume at 95%"),
        confidence.share(
            "acres_with_error",
            data["acres_with_error"] / data["acres"],
            "acres in units with at least two plots, whose error is known",
        ),
        confidence.age(
            policy,
            "cruise",
            [unit.measured_on for unit in cruise.units.rows],
            cruise.case.as_of,
        ),
        confidence.synthetic(policy, cruise.units, cruise.trees),
    )


def basal_area(tree: Tree) -> float:
    """Return a tree's basal area in square feet."""
    return _SQUARE_FEET_PER_SQUARE_INCH * (tree.dbh_in or 0) ** 2


def trees_per_acre(tree: Tree, baf: float) -> float:
    """Return how many trees an acre one tallied tree stands for."""
    return baf / basal_area(tree)


def net_bf(tree: Tree, baf: float) -> float:
    """Return the net board feet an acre that one tallied tree stands for."""
    return trees_per_acre(tree, baf) * (tree.gross_bf or 0) * (1 - tree.defect_pct / 100)


def _headline(data: dict[str, Any]) -> str:
    error = data["total_sampling_error_pct"]
    spread = "with an unknown error" if error is None else f"±{error:g}% at 95%"
    units = len(data["units"])
    return (
        f"{data['total_net_mbf']:,.0f} thousand board feet net on {data['acres']:g} acres "
        f"in {units} cruised units, {spread}."
    )


def _lines(row: dict[str, Any]) -> Iterable[str]:
    yield (
        f"{row['unit_id']} {row['name']}: {row['plots']} plots, "
        f"basal area {row['basal_area_sqft_per_acre']:g} square feet, "
        f"{row['trees_per_acre']:g} trees and {row['net_bf_per_acre']:,.0f} board feet an acre."
    )
    if row["sampling_error_pct"] is None:
        yield f"{row['unit_id']}: too few plots for an error."
    else:
        yield (
            f"{row['unit_id']}: CV {row['cv_pct']:g}%, SE {row['se_pct']:g}%, "
            f"sampling error {row['sampling_error_pct']:g}%{_allowed(row)}."
        )


def _allowed(row: dict[str, Any]) -> str:
    if row["allowed_error_pct"] is None:
        return ""
    met = "met" if row["error_met"] else f"not met, {row['plots_needed']} plots needed"
    return f" ({row['allowed_error_pct']:g}% allowed: {met})"


def _actions(rows: list[dict[str, Any]]) -> Iterable[str]:
    for row in rows:
        if row["error_met"] is False:
            yield (
                f"Cruise {row['unit_id']} again with about {row['plots_needed']} plots: its "
                f"sampling error is {row['sampling_error_pct']:g}%, "
                f"{row['allowed_error_pct']:g}% are allowed."
            )
