"""Screens proposals against the categorical exclusions that hold on the day that is spoken of.

For each proposal the rule for its activity is looked up by date and its limits are tried one by one,
with a trace. What is not known is said, not assumed: an unmet limit rules a category out, an unknown
one leaves it open. A rule that was set aside is never offered as valid. The table finds a category or none; it
does not say that an assessment or a statement is enough. Every answer ends as a screening aid.

Confidence: the share of required inputs that are known (all, once one limit is not met; none without
a rule that can be used), the mean over proposals, times what a secondary source and the table's age leave, times the
cost of made-up proposals.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import msgspec

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..calendar_day import years_later
from ..finding import Finding, Need
from ..library import DataProblem, Sheet
from ..library.records import Incident, Proposal, SourceNote
from ..library.tables import NepaRule, NepaTable
from ..roster import CRUISING_ASSISTANT, NEPA_ADVISOR
from .case import Case
from .citation import table_factors
from .rules import regime_of, rule_for, status_of

_UNITS = {"acres": "acres", "temp_road_miles": "miles of temporary road", "road_miles": "miles"}
_WINDOW = "years_after_fire"
_CIRCUMSTANCES = "extraordinary_circumstances"
_NONE_FITS = "no category of the table fits"
_ASKED = "Q1"


def screen_nepa(case: Case, inputs: Mapping[str, Any]) -> Finding:
    """Screen the fire's proposals, or one described in `inputs`.

    `inputs` may hold `proposal_id`, `activity`, `acres` and `temp_road_miles`. With an activity they
    describe a proposal of the moment. A proposal's id alone screens that one; with sizes it
    completes that one, and all are screened.
    """
    table = case.tables.nepa()
    proposals = _proposals(case, table, inputs)
    rows = [_screen(proposal, table, case) for proposal in proposals.rows]
    data = case.data | {
        "proposals": rows,
        "checked_on": table.checked_on.isoformat(),
        "closing": table.closing,
        "verify": sorted({row["verify"] for row in rows if row["verify"]}),
    }
    return Finding(
        title="NEPA screening",
        headline=" ".join(_sentence(row) for row in rows),
        body=(*(line for row in rows for line in _lines(row)), *_notes(data)),
        data=data,
        proof=Proof(
            factors=_factors(case, table, proposals, rows),
            citations=_citations(case, proposals, rows),
            reasoning=tuple(step for row in rows for step in row["trace"]),
        ),
        synthetic=proposals.synthetic,
        actions=_actions(rows),
        needs=tuple(need for row in rows for need in _needs(row)),
        closing=table.closing,
    )


def _proposals(case: Case, table: NepaTable, inputs: Mapping[str, Any]) -> Sheet[Proposal]:
    activity = str(inputs.get("activity") or "").strip().lower()
    given = {key: inputs[key] for key in ("acres", "temp_road_miles") if inputs.get(key) is not None}
    for key, value in given.items():
        if not 0 <= value <= 10_000_000:
            raise DataProblem("bad argument", f"{key} is {value}; expected a size.", field=key)
    if not activity:
        return _from_file(case, str(inputs.get("proposal_id") or ""), given)
    if activity not in table.activities:
        known = ", ".join(table.activities)
        text = f"There is no rule for the activity {activity[:40]!r}. The table has: {known}."
        raise DataProblem("bad argument", text, field="activity")
    name = f"{table.activities[activity]}, as asked"
    asked = Proposal(proposal_id=_ASKED, name=name, activity=activity, **given)
    note = SourceNote("The question", "as it was asked", synthetic=False, dated=case.as_of)
    return Sheet("the question", (asked,), note)


def _from_file(case: Case, proposal_id: str, given: dict[str, float]) -> Sheet[Proposal]:
    proposals = case.folder.proposals()
    wanted = proposal_id.strip().lower()
    kept = [row for row in proposals.rows if wanted in ("", row.proposal_id.lower())]
    if not kept:
        known = ", ".join(row.proposal_id for row in proposals.rows) or "none"
        text = f"There is no proposal {proposal_id[:40]!r} in proposals.csv. It has: {known}."
        raise DataProblem("bad argument", text, file=proposals.file, field="proposal_id")
    if wanted and given:
        completed = msgspec.structs.replace(kept[0], **given)
        kept = [completed if row == kept[0] else row for row in proposals.rows]
    return Sheet(proposals.file, tuple(kept), proposals.note)


def _screen(proposal: Proposal, table: NepaTable, case: Case) -> dict[str, Any]:
    rule = rule_for(table, proposal.activity, case.as_of)
    row: dict[str, Any] = {
        "proposal_id": proposal.proposal_id,
        "name": proposal.name,
        "activity": proposal.activity,
        "rule": rule.citation if rule else None,
        "rule_title": rule.title if rule else "",
        "rule_status": status_of(rule, case.as_of) if rule else "not in the table",
        "verify": rule.verify if rule else "",
        "rule_note": rule.note_on(case.as_of) if rule else "",
        "tests": [],
        "document": "",
        "notes": [],
    }
    if rule is None or row["rule_status"] != "in force":
        event = rule.events[0] if rule and rule.events else None
        row["because"] = f"{event.status} by {event.by}" if event else "no rule for it on that day"
        return row | _verdict(row, usable=False)
    regime = regime_of(table, rule)
    row["tests"] = [_activity(proposal), *_tests(proposal, rule, case), _circumstances(proposal)]
    row["document"] = regime.document if regime else ""
    row["notes"] = list(regime.notes) if regime else []
    row["circumstances_rule"] = regime.circumstances if regime else ""
    return row | _verdict(row, usable=True)


def _tests(proposal: Proposal, rule: NepaRule, case: Case) -> list[dict[str, Any]]:
    sizes = [
        _size_test(name, getattr(proposal, name), limit)
        for name, limit in rule.limits.items()
        if name != _WINDOW
    ]
    window = rule.limits.get("years_after_fire")
    return sizes if window is None else [*sizes, _window_test(case.incident, int(window), case.as_of)]


def _size_test(name: str, value: float | None, limit: float) -> dict[str, Any]:
    shown = "not known" if value is None else f"{value:g}"
    return {
        "input": name,
        "value": value,
        "limit": limit,
        "passed": None if value is None else value <= limit,
        "detail": f"{_UNITS[name]}: {shown}, limit {limit:g}",
    }


def _window_test(incident: Incident, years: int, as_of: date) -> dict[str, Any]:
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


def _activity(proposal: Proposal) -> dict[str, Any]:
    name = proposal.activity
    return {
        "input": "activity",
        "value": name,
        "limit": name,
        "passed": True,
        "detail": f"activity: {name}",
    }


def _circumstances(proposal: Proposal) -> dict[str, Any]:
    state = proposal.extraordinary_circumstances
    return {
        "input": _CIRCUMSTANCES,
        "value": state,
        "limit": "none found",
        "passed": {"none found": True, "present": False, "not reviewed": None}[state],
        "detail": f"extraordinary circumstances: {state}",
    }


def _verdict(row: dict[str, Any], *, usable: bool) -> dict[str, Any]:
    passed = [test["passed"] for test in row["tests"]]
    known = sum(result is not None for result in passed) / len(passed) if passed else 0.0
    outcome = "fits"
    if not usable or False in passed:
        # One limit that is not met settles it, whatever else is unknown.
        outcome, known = _NONE_FITS, 1.0
    elif None in passed:
        outcome = "fits if what is not known allows it"
    return {
        "outcome": outcome,
        "known_inputs": round(known, 4) if usable else 0.0,
        "failed": [test["input"] for test in row["tests"] if test["passed"] is False],
        "unknown": [test["input"] for test in row["tests"] if test["passed"] is None],
        "trace": _trace(row, outcome),
    }


def _trace(row: dict[str, Any], outcome: str) -> list[str]:
    found = f"{row['proposal_id']}: {row['activity']}, rule {row['rule'] or 'none'} ({row['rule_status']})."
    tests = [f"{row['proposal_id']}: {test['detail']}." for test in row["tests"]]
    return [found, *tests, f"{row['proposal_id']}: {outcome}."]


def _factors(
    case: Case, table: NepaTable, proposals: Sheet[Proposal], rows: list[dict[str, Any]]
) -> tuple[Factor, ...]:
    known = sum(row["known_inputs"] for row in rows) / len(rows)
    why = "required inputs that are known; none where no rule can be used; mean over proposals"
    return (
        confidence.share("known_inputs", known, why),
        *table_factors(case, table),
        confidence.synthetic(case.tables.confidence(), proposals),
    )


def _citations(
    case: Case, proposals: Sheet[Proposal], rows: list[dict[str, Any]]
) -> tuple[Citation, ...]:
    rules = {
        row["rule"]: Citation(row["rule"], f"{row['rule_title']} ({row['rule_status']})", row["verify"])
        for row in rows
        if row["rule"]
    }
    used = [rule for rule in case.tables.nepa().rules if rule.citation in rules]
    own = case.tables.own_citation("nepa_rules.json", used, "Table of NEPA rules with dates")
    return (proposals.citation(), *rules.values(), own)


def _sentence(row: dict[str, Any]) -> str:
    rule = f" ({row['rule']}, {row['rule_status']})" if row["rule"] else ""
    reason = _reason(row)
    return f"{row['proposal_id']} {row['name']}: {row['outcome']}{rule}{reason}."


def _reason(row: dict[str, Any]) -> str:
    if row.get("because"):
        return f", {row['because']}"
    failed = [test["detail"] for test in row["tests"] if test["passed"] is False]
    return f", {'; '.join(failed)}" if failed else ""


def _lines(row: dict[str, Any]) -> list[str]:
    if not row["tests"]:
        return []
    tests = "; ".join(test["detail"] for test in row["tests"])
    lines = [f"{row['proposal_id']} under {row['rule']}, {row['rule_title']}: {tests}."]
    if row["document"] and row["outcome"] != _NONE_FITS:
        lines.append(f"{row['proposal_id']}: to be recorded in a {row['document']}.")
    return lines


def _notes(data: dict[str, Any]) -> list[str]:
    notes = dict.fromkeys(note for row in data["proposals"] for note in row["notes"])
    cautions = dict.fromkeys(row["rule_note"] for row in data["proposals"] if row["rule_note"])
    links = [f"Verify: {link}" for link in data["verify"]]
    return [*notes, *cautions, *links]


def _actions(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    fits = [f"{row['proposal_id']} under {row['rule']}" for row in rows if row["outcome"] == "fits"]
    none = [row["proposal_id"] for row in rows if row["outcome"] == _NONE_FITS]
    actions = []
    if fits:
        actions.append(f"Have {', '.join(fits)} verified and decided by the responsible official.")
    if none:
        actions.append(f"Reshape {', '.join(none)} or ask which analysis it needs: {_NONE_FITS}.")
    return tuple(actions)


def _needs(row: dict[str, Any]) -> list[Need]:
    # A category that is ruled out already needs no further input.
    if row["outcome"] == _NONE_FITS:
        return []
    needs = []
    for name in row["unknown"]:
        if name == "acres" and row["activity"] == "salvage" and row["proposal_id"] != _ASKED:
            needs.append(_acres_need(row["proposal_id"]))
        elif name == _CIRCUMSTANCES:
            question = f"Are there extraordinary circumstances for {row['proposal_id']}?"
            needs.append(Need(f"{question} See {row['circumstances_rule']}."))
        else:
            needs.append(Need(f"How many {_UNITS[name]} does {row['proposal_id']} have?"))
    return needs


def _acres_need(proposal_id: str) -> Need:
    return Need(
        question=f"How many acres does {proposal_id} cover? The cruised units would tell.",
        of=NEPA_ADVISOR,
        request=f"follow_up:screen_nepa proposal:{proposal_id} acres:{{acres}}",
        source=f"{CRUISING_ASSISTANT}.cruise_statistics",
    )
