"""The tests that a proposal has to pass under a rule: sizes, the time since the fire, circumstances.

Each test says what was tried, against what, and whether it passed; None where the input is unknown.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from ..calendar_day import years_later
from ..library.records import Incident, Proposal
from ..library.tables import NepaRule
from .case import Case

Test = dict[str, Any]
UNITS = {"acres": "acres", "temp_road_miles": "miles of temporary road", "road_miles": "miles"}
CIRCUMSTANCES = "extraordinary_circumstances"
_WINDOW = "years_after_fire"


def tests_of(proposal: Proposal, rule: NepaRule, case: Case) -> list[Test]:
    """Return all tests of a proposal under a rule, in order."""
    return [_activity(proposal), *_limits(proposal, rule, case), _circumstances(proposal)]


def _limits(proposal: Proposal, rule: NepaRule, case: Case) -> list[Test]:
    sizes = [
        _size_test(name, getattr(proposal, name), limit)
        for name, limit in rule.limits.items()
        if name != _WINDOW
    ]
    window = rule.limits.get("years_after_fire")
    return (
        sizes if window is None else [*sizes, _window_test(case.incident, int(window), case.as_of)]
    )


def _size_test(name: str, value: float | None, limit: float) -> Test:
    shown = "not known" if value is None else f"{value:g}"
    return {
        "input": name,
        "value": value,
        "limit": limit,
        "passed": None if value is None else value <= limit,
        "detail": f"{UNITS[name]}: {shown}, limit {limit:g}",
    }


def _window_test(incident: Incident, years: int, as_of: date) -> Test:
    start = incident.contained_on or incident.started_on
    end = years_later(start, years)
    counted = "containment" if incident.contained_on else "the fire's start"
    state = "has ended" if as_of > end else f"has {(end - as_of).days} days left"
    return {
        "input": _WINDOW,
        "value": as_of.isoformat(),
        "limit": end.isoformat(),
        "passed": as_of <= end,
        "detail": f"within {years} years, counted from {counted}: ends {end}, {state}",
    }


def _activity(proposal: Proposal) -> Test:
    name = proposal.activity
    return {
        "input": "activity",
        "value": name,
        "limit": name,
        "passed": True,
        "detail": f"activity: {name}",
    }


def _circumstances(proposal: Proposal) -> Test:
    state = proposal.extraordinary_circumstances
    return {
        "input": CIRCUMSTANCES,
        "value": state,
        "limit": "none found",
        "passed": {"none found": True, "present": False, "not reviewed": None}[state],
        "detail": f"extraordinary circumstances: {state}",
    }
