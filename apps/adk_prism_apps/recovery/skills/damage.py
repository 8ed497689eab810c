"""Trail damage, segment by segment, on a scale of this project's own: D1 to D4.

We found no national scale; the rules are in
`reference/trail_scale.json`, and every answer says `scheme: project-defined`. A segment that nobody
has seen has no class. Confidence: the share of miles that were surveyed, times the survey's age,
times the cost of made-up rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..finding import Finding, Need
from ..library import DataProblem, Sheet
from ..library.records import Segment, Trail
from ..library.tables import DamageRule, TrailScale
from .case import Case


class Survey:
    """The trails of a fire with their classified segments, for one trail or for all."""

    def __init__(self, case: Case, trail_id: str = "") -> None:
        """Read the files; raise `DataProblem` for a trail that is not there."""
        self.case = case
        self.scale = case.tables.trail_scale()
        trails = case.folder.trails()
        segments = case.folder.segments(trails.rows)
        kept = [row for row in trails.rows if _is_meant(row, trail_id)]
        if not kept:
            known = ", ".join(row.trail_id for row in trails.rows)
            text = f"There is no trail {trail_id[:40]!r} in trails.csv. It has: {known}."
            raise DataProblem("bad argument", text, file="trails.csv", field="trail_id")
        ids = {row.trail_id for row in kept}
        self.trails = Sheet(trails.file, tuple(kept), trails.note)
        inside = tuple(row for row in segments.rows if row.trail_id in ids)
        self.segments = Sheet(segments.file, inside, segments.note)

    @property
    def synthetic(self) -> bool:
        return confidence.any_synthetic(self.trails, self.segments)

    @property
    def surveyed(self) -> list[Segment]:
        return [row for row in self.segments.rows if row.surveyed_on is not None]

    @property
    def miles(self) -> float:
        return sum(trail.miles for trail in self.trails.rows)

    @property
    def surveyed_miles(self) -> float:
        return sum(length(row) for row in self.surveyed)

    def of(self, trail: Trail) -> list[Segment]:
        """Return the segments of one trail."""
        return [row for row in self.segments.rows if row.trail_id == trail.trail_id]

    def citations(self) -> tuple[Citation, ...]:
        own = self.case.tables.own_citation("trail_scale.json", self.scale)
        return self.trails.citation(), self.segments.citation(), own

    def factors(self) -> tuple[Factor, ...]:
        """Return the factors that lower the confidence in any statement about these trails."""
        policy = self.case.tables.confidence()
        seen = [row.surveyed_on for row in self.surveyed if row.surveyed_on is not None]
        return (
            confidence.share(
                "surveyed_miles", self.surveyed_miles / self.miles, "miles seen since the fire"
            ),
            confidence.age(policy, "trail survey", seen, self.case.as_of),
            confidence.synthetic(policy, self.trails, self.segments),
        )


def classify_damage(case: Case, trail_id: str = "") -> Finding:
    """Give every surveyed segment its damage class."""
    survey = Survey(case, trail_id)
    rows = [segment_row(row, survey.scale) for row in survey.segments.rows]
    names = [kind.name for kind in survey.scale.classes]
    data = case.data | {
        "scheme": survey.scale.scheme,
        "note": survey.scale.note,
        "segments": rows,
        "miles": round(survey.miles, 2),
        "surveyed_miles": round(survey.surveyed_miles, 2),
        "miles_by_class": {name: _miles_of(rows, name) for name in names},
        "trails": [_trail_row(trail, rows, survey.scale) for trail in survey.trails.rows],
    }
    return Finding(
        title="Trail damage",
        headline=_headline(data),
        body=_body(data),
        data=data,
        proof=Proof(
            factors=survey.factors(),
            citations=survey.citations(),
            reasoning=(
                f"Read {len(rows)} segments of {len(data['trails'])} trails.",
                "Gave each surveyed segment the first class whose rule it meets.",
                "Left segments without a survey unclassified.",
            ),
        ),
        synthetic=survey.synthetic,
        needs=tuple(_need(row) for row in rows if row["class"] is None),
    )


def damage_class(segment: Segment, scale: TrailScale) -> DamageRule | None:
    """Return the rule that classifies a segment, or None for one that was not surveyed."""
    if segment.surveyed_on is None:
        return None
    return next((rule for rule in scale.damage_rules if _meets(segment, rule)), None)


def segment_row(segment: Segment, scale: TrailScale) -> dict[str, Any]:
    """Return a segment as data, with its class and why."""
    rule = damage_class(segment, scale)
    return {
        "segment_id": segment.segment_id,
        "trail_id": segment.trail_id,
        "miles": length(segment),
        "sector_id": segment.sector_id,
        "class": rule.damage_class if rule else None,
        "heavy": rule is not None and scale.is_heavy(rule.damage_class),
        "because": rule.because if rule else "not surveyed since the fire",
        "structure": segment.structure,
        "hazard_trees_per_mile": round(segment.hazard_trees / length(segment), 1) if rule else None,
    }


def length(segment: Segment) -> float:
    """Return a segment's miles."""
    return round(segment.to_mile - segment.from_mile, 2)


def _meets(segment: Segment, rule: DamageRule) -> bool:
    wanted = (
        rule.tread_loss_pct_from is None or segment.tread_loss_pct >= rule.tread_loss_pct_from,
        rule.structure is None or segment.structure == rule.structure,
        rule.state is None or segment.structure_state == rule.state,
    )
    return all(wanted)


def _is_meant(trail: Trail, wanted: str) -> bool:
    text = wanted.strip().lower()
    return not text or text in (trail.trail_id.lower(), trail.name.lower())


def _miles_of(rows: Sequence[dict[str, Any]], name: str) -> float:
    return round(float(sum(row["miles"] for row in rows if row["class"] == name)), 2)


def _trail_row(trail: Trail, rows: list[dict[str, Any]], scale: TrailScale) -> dict[str, Any]:
    own = [row for row in rows if row["trail_id"] == trail.trail_id]
    classes = [row["class"] for row in own if row["class"]]
    worst = max(classes, key=scale.step, default=None)
    return {"trail_id": trail.trail_id, "name": trail.name, "miles": trail.miles, "worst": worst}


def _headline(data: dict[str, Any]) -> str:
    miles = ", ".join(f"{name} {area:g}" for name, area in data["miles_by_class"].items())
    return (
        f"{data['surveyed_miles']:g} of {data['miles']:g} trail miles were surveyed; "
        f"miles by class (project-defined scale): {miles}."
    )


def _body(data: dict[str, Any]) -> tuple[str, ...]:
    trails = [
        f"{row['trail_id']} {row['name']}: worst {row['worst'] or 'not known'}"
        for row in data["trails"]
    ]
    heavy = [
        f"{row['segment_id']} is {row['class']}: {row['because']}"
        for row in data["segments"]
        if row["heavy"]
    ]
    return (f"{'; '.join(trails)}.", *(f"{line}." for line in heavy), data["note"])


def _need(row: dict[str, Any]) -> Need:
    return Need(f"What is the state of {row['segment_id']}, which nobody has surveyed?")
