"""Which trails to close, by rule, and in which order to repair them.

A trail is closed or under caution by the first rule that one of its segments meets
(`reference/trail_scale.json`). A trail with unseen miles is never called open. The order of repair
has no weights: closed trails first, then the worst class, then heavily damaged miles, then visits.
Confidence is the survey's, times the share of segments whose burn severity is known.
"""

from __future__ import annotations

from typing import Any

from adk_prism.proof import Factor, Proof

from .. import confidence
from ..finding import Finding
from ..library import DataProblem
from ..library.records import Segment, Trail
from ..library.tables import ClosureRule, TrailScale
from .case import Case
from .damage import Survey, damage_class, length
from .severity import severity_groups

_ORDER = ("close", "caution", "not known", "open")


def evaluate_closures(case: Case, trail_id: str = "") -> Finding:
    """Say for each trail whether to close it, and why."""
    survey = Survey(case, trail_id)
    groups = _groups(case)
    rows = trail_rows(survey, groups)
    by_status = {
        status: [row["trail_id"] for row in rows if row["status"] == status] for status in _ORDER
    }
    data = case.data | {
        "scheme": survey.scale.scheme,
        "trails": rows,
        "by_status": by_status,
        "severity_known": bool(groups),
    }
    return Finding(
        title="Trail closures",
        headline=_closure_headline(data),
        body=tuple(_closure_line(row) for row in rows),
        data=data,
        proof=Proof(
            factors=(*survey.factors(), _severity_factor(survey, groups)),
            citations=(*survey.citations(), *_severity_citations(case, groups)),
            reasoning=(
                "Classified the damage of each segment.",
                "Looked up the burn severity of its sector.",
                "Took for each trail the first closure rule that a segment meets.",
            ),
        ),
        synthetic=survey.synthetic,
        actions=_actions(data),
    )


def rank_trails(case: Case) -> Finding:
    """Put the trails in the order in which to repair them."""
    survey = Survey(case)
    groups = _groups(case)
    ranked = sorted(trail_rows(survey, groups), key=_rank)
    for place, row in enumerate(ranked, start=1):
        row["place"] = place
    visits = [trail.visits_per_year is not None for trail in survey.trails.rows]
    data = case.data | {"scheme": survey.scale.scheme, "trails": ranked}
    return Finding(
        title="Order of repair",
        headline=_rank_headline(data),
        body=tuple(_rank_line(row) for row in ranked),
        data=data,
        proof=Proof(
            factors=(
                *survey.factors(),
                _severity_factor(survey, groups),
                confidence.share("visits_known", sum(visits) / len(visits), "trails with a count"),
            ),
            citations=(*survey.citations(), *_severity_citations(case, groups)),
            reasoning=(
                "Evaluated closures.",
                "Sorted by status, worst class, heavily damaged miles, then visits.",
            ),
        ),
        synthetic=survey.synthetic,
    )


def trail_rows(survey: Survey, groups: dict[str, str]) -> list[dict[str, Any]]:
    """Return every trail with its status, as data."""
    return [_trail_row(trail, survey, groups) for trail in survey.trails.rows]


def _trail_row(trail: Trail, survey: Survey, groups: dict[str, str]) -> dict[str, Any]:
    segments = survey.of(trail)
    rule, where = _first_rule(segments, survey.scale, groups)
    seen = [row for row in segments if row.surveyed_on is not None]
    unseen = round(max(0.0, trail.miles - sum(length(row) for row in seen)), 2)
    scale = survey.scale
    worst = max((_class_of(row, scale) for row in seen), key=scale.step, default=None)
    heavy = [row for row in seen if scale.is_heavy(_class_of(row, scale))]
    return {
        "trail_id": trail.trail_id,
        "name": trail.name,
        "status": rule.status if rule else "not known" if unseen else "open",
        "because": rule.because if rule else "miles not surveyed" if unseen else "no rule is met",
        "segment_id": where,
        "worst": worst,
        "worst_step": scale.step(worst),
        "heavy_miles": round(sum(length(row) for row in heavy), 2),
        "unsurveyed_miles": unseen,
        "visits_per_year": trail.visits_per_year,
    }


def _first_rule(
    segments: list[Segment], scale: TrailScale, groups: dict[str, str]
) -> tuple[ClosureRule | None, str]:
    for rule in scale.closure_rules:
        for segment in segments:
            if segment.surveyed_on is not None and _meets(segment, rule, scale, groups):
                return rule, segment.segment_id
    return None, ""


def _meets(segment: Segment, rule: ClosureRule, scale: TrailScale, groups: dict[str, str]) -> bool:
    per_mile = segment.hazard_trees / length(segment)
    limit = rule.hazard_trees_per_mile_above
    wanted = (
        rule.damage_class is None or _class_of(segment, scale) == rule.damage_class,
        rule.structure is None or segment.structure == rule.structure,
        limit is None or per_mile > limit,
        rule.severity_groups is None or groups.get(segment.sector_id) in rule.severity_groups,
    )
    return all(wanted)


def _class_of(segment: Segment, scale: TrailScale) -> str | None:
    rule = damage_class(segment, scale)
    return rule.damage_class if rule else None


def _groups(case: Case) -> dict[str, str]:
    try:
        return severity_groups(case)
    except DataProblem:
        # The trails can be judged without the sectors; the severity factor then says what it costs.
        return {}


def _severity_factor(survey: Survey, groups: dict[str, str]) -> Factor:
    policy = survey.case.tables.confidence()
    rows = survey.segments.rows
    unknown = sum(row.sector_id not in groups for row in rows) / len(rows) if rows else 1.0
    why = "segments whose burn severity is not known, so that one closure rule cannot be tried"
    return confidence.weakness(policy, "severity_unknown", unknown, why)


def _severity_citations(case: Case, groups: dict[str, str]) -> tuple[Any, ...]:
    return (case.folder.sectors().citation(),) if groups else ()


def _rank(row: dict[str, Any]) -> tuple[Any, ...]:
    visits = row["visits_per_year"] or 0
    status = _ORDER.index(row["status"])
    # Negative where more comes first; the id decides what is left, so that the order is one.
    return status, -row["worst_step"], -row["heavy_miles"], -visits, row["trail_id"]


def _closure_headline(data: dict[str, Any]) -> str:
    parts = [
        f"{status}: {', '.join(trails)}" for status, trails in data["by_status"].items() if trails
    ]
    return f"By the project's rules, {'; '.join(parts)}."


def _closure_line(row: dict[str, Any]) -> str:
    where = f" ({row['segment_id']})" if row["segment_id"] else ""
    unseen = f"; {row['unsurveyed_miles']:g} miles not surveyed" if row["unsurveyed_miles"] else ""
    return f"{row['trail_id']} {row['name']}: {row['status']}, {row['because']}{where}{unseen}."


def _rank_headline(data: dict[str, Any]) -> str:
    order = ", ".join(f"{row['trail_id']} {row['name']}" for row in data["trails"])
    return f"Repair in this order: {order}."


def _rank_line(row: dict[str, Any]) -> str:
    count = row["visits_per_year"]
    visits = "visits not known" if count is None else f"{count:,} visits a year"
    return (
        f"{row['place']}. {row['trail_id']}: {row['status']}, worst {row['worst'] or 'not known'}, "
        f"{row['heavy_miles']:g} miles of heavy damage, {visits}."
    )


def _actions(data: dict[str, Any]) -> tuple[str, ...]:
    verbs = (("close", "Close"), ("caution", "Post warnings on"), ("not known", "Survey"))
    return tuple(
        f"{verb} {', '.join(data['by_status'][status])}."
        for status, verb in verbs
        if data["by_status"][status]
    )
