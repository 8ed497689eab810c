"""Which severity class a dNBR value falls into, and how firmly.

The scheme is Key & Benson's indicative one (`reference/severity_classes.json`) unless the fire has
an `mtbs.csv`: then the thresholds that MTBS's analyst set for this very fire are used. Fill values
and the single-scene caveat follow MTBS's own description of its boundary data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

from ..library.problem import DataProblem
from ..library.records import Mtbs
from ..library.tables import SeverityClass, SeverityScheme

_UNUSED = {9999, -9999, 999, -999}
_OUTSIDE = "outside the scheme"
_CAUTION = (
    "Thresholds set for this fire by an MTBS analyst: vegetation severity, not soil burn severity."
)
Group = Literal["regrowth", "unburned", "low", "moderate", "high"]
_MTBS_CLASSES: tuple[tuple[str, Group, str], ...] = (
    ("unburned to low", "unburned", "incgreen_t"),
    ("low", "low", "low_t"),
    ("moderate", "moderate", "mod_t"),
    ("high", "high", "high_t"),
)


@dataclass(frozen=True, slots=True)
class Classification:
    """A value's class; `distance` is to the nearest break between two classes."""

    name: str
    group: str
    nearest_break: float | None
    distance: float


def classify(value: float, scheme: SeverityScheme) -> Classification:
    """Return the class of a value."""
    last = scheme.classes[-1]
    found = [kind for kind in scheme.classes if kind.low <= value < kind.high]
    if value == last.high:
        found = [last]
    breaks = [kind.low for kind in scheme.classes[1:]]
    if not found or not breaks:
        return Classification(_OUTSIDE, "unclassified", None, 0.0)
    nearest = min(breaks, key=lambda edge: abs(edge - value))
    return Classification(found[0].name, found[0].group, nearest, abs(nearest - value))


def stability(distance: float, sd: float) -> float:
    """Return how surely a value stays on its side of a break: the normal share within `distance`.

    0.5 on the break itself, towards 1 far from it (classification stability).
    """
    return NormalDist(0, sd).cdf(distance)


def shares(mean: float, sd: float, scheme: SeverityScheme) -> dict[str, float]:
    """Return the share of the ground expected in each class, if its values spread normally."""
    spread = NormalDist(mean, sd)
    return {kind.name: spread.cdf(kind.high) - spread.cdf(kind.low) for kind in scheme.classes}


def scheme_of_fire(default: SeverityScheme, mtbs: Mtbs | None, file: str) -> SeverityScheme:
    """Return the scheme to use; raise `DataProblem` for thresholds that cannot be used."""
    if mtbs is None:
        return default
    if "(SS)" in mtbs.asmnt_type:
        text = f"{file}: `Asmnt_Type` is single-scene, so its thresholds are NBR and not dNBR."
        raise DataProblem("malformed file", text, file=file, field="Asmnt_Type")
    starts = [
        (name, group, getattr(mtbs, field))
        for name, group, field in _MTBS_CLASSES
        if getattr(mtbs, field) not in _UNUSED
    ]
    edges = [start for _, _, start in starts]
    if not edges or any(low >= high for low, high in pairwise(edges)):
        text = f"{file}: `Low_T`, `Mod_T` and `High_T` have to rise from one to the next."
        raise DataProblem("malformed file", text, file=file, field="Low_T")
    return SeverityScheme(
        scheme=f"MTBS thresholds of {mtbs.event_id}",
        citation="mtbs",
        caution=_CAUTION,
        classes=_mtbs_classes(starts, greenness=mtbs.incgreen_t not in _UNUSED),
    )


def _mtbs_classes(
    starts: list[tuple[str, Group, float]], *, greenness: bool
) -> tuple[SeverityClass, ...]:
    # Below the first threshold: greener than before if there is a threshold for that, else unburned.
    below: tuple[str, Group] = (
        ("increased greenness", "regrowth") if greenness else ("unburned to low", "unburned")
    )
    firsts = [(*below, -math.inf), *starts]
    ends = [start for _, _, start in starts] + [math.inf]
    return tuple(
        SeverityClass(name=name, group=group, low=low, high=high)
        for (name, group, low), high in zip(firsts, ends, strict=True)
    )
