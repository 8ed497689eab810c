"""Screens proposals against the categorical exclusions in force on the date of the assessment.

For each proposal the rule for its activity is looked up by date and its limits are tried one by
one, with a trace. Unknown inputs are reported, not assumed: an unmet limit rules a category out, an
unknown one leaves it open. A rule that was set aside is never offered as valid. The table finds a
category or none; it does not say that an assessment or a statement is enough. Every answer ends as
a screening aid.

Confidence, for each proposal: the share of required inputs that are known (all, once one limit is
not met; none without a rule that can be used), times what a secondary source and the table's age
leave, times the cost of made-up proposals. The lowest counts for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..agent_names import CRUISING_ASSISTANT, NEPA_ADVISOR
from ..finding import Finding, Need, Part
from ..library import Sheet
from ..library.records import Proposal
from ..library.tables import NepaTable
from .case import Case
from .citation import closing_of, table_factors
from .limits import CIRCUMSTANCES, UNITS, tests_of
from .proposals import ASKED, choose_proposals
from .rules import regime_of, rule_for, status_of

_NONE_FITS = "no category of the table fits"


def screen_nepa(case: Case, inputs: Mapping[str, Any]) -> Finding:
    """Screen the fire's proposals, or one described in `inputs`.

    `inputs` may hold `proposal_id`, `activity`, `acres` and `temp_road_miles`; `proposals.py` says
    what they mean together.
    """
    table = case.tables.nepa()
    proposals = choose_proposals(case, table, inputs)
    rows = [_screen(proposal, table, case) for proposal in proposals.rows]
    shared = _shared_factors(case, table, proposals)
    for row in rows:
        effects = math.prod(factor.effect for factor in shared)
        row["confidence"] = round(row["known_inputs"] * effects, 4)
    data = case.data | {
        "proposals": rows,
        "checked_on": table.checked_on.isoformat(),
        "closing": closing_of(table, [row["verify"] for row in rows]),
    }
    return Finding(
        title="NEPA screening",
        headline=" ".join(_sentence(row) for row in rows),
        body=tuple(_notes(data)),
        data=data,
        proof=Proof(
            factors=(_known_factor(rows), *shared),
            parts=tuple((row["proposal_id"], row["confidence"]) for row in rows),
            citations=_citations(case, proposals, rows),
            reasoning=tuple(step for row in rows for step in row["trace"]),
        ),
        synthetic=proposals.synthetic,
        actions=_actions(rows),
        needs=tuple(need for row in rows for need in _needs(row)),
        closing=data["closing"],
        parts=tuple(_part(row) for row in rows),
    )


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
    row["tests"] = tests_of(proposal, rule, case)
    row["document"] = regime.document if regime else ""
    row["notes"] = list(regime.notes) if regime else []
    row["circumstances_rule"] = regime.circumstances if regime else ""
    return row | _verdict(row, usable=True)


def _verdict(row: dict[str, Any], *, usable: bool) -> dict[str, Any]:
    passed = [test["passed"] for test in row["tests"]]
    known = sum(result is not None for result in passed) / len(passed) if passed else 0.0
    outcome = "fits"
    if not usable or False in passed:
        # One limit that is not met settles it, whatever else is unknown.
        outcome, known = _NONE_FITS, 1.0
    elif None in passed:
        outcome = "may fit"
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


def _known_factor(rows: list[dict[str, Any]]) -> Factor:
    known = min(row["known_inputs"] for row in rows)
    why = "required inputs that are known, of the proposal that knows least; none without a usable rule"
    return confidence.share("known_inputs", known, why)


def _shared_factors(case: Case, table: NepaTable, proposals: Sheet[Proposal]) -> tuple[Factor, ...]:
    """Return what weakens the screening of every proposal alike."""
    made_up = confidence.synthetic(case.tables.confidence(), proposals)
    return (*table_factors(case, table), made_up)


def _citations(
    case: Case, proposals: Sheet[Proposal], rows: list[dict[str, Any]]
) -> tuple[Citation, ...]:
    rules = {
        row["rule"]: Citation(
            row["rule"], f"{row['rule_title']} ({row['rule_status']})", row["verify"]
        )
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
    if failed:
        return f", {'; '.join(failed)}"
    unknown = ", ".join(name.replace("_", " ") for name in row["unknown"])
    return f", not known: {unknown}" if unknown else ""


def _part(row: dict[str, Any]) -> Part:
    title = f"{row['proposal_id']} {row['name']}: {row['outcome']}"
    basis = f"{row['rule']} ({row['rule_title']}; {row['rule_status']})" if row["rule"] else ""
    return Part(row["proposal_id"], title, tuple(_lines(row)), basis, row["confidence"])


def _lines(row: dict[str, Any]) -> list[str]:
    if not row["tests"]:
        return []
    lines = [f"{'; '.join(test['detail'] for test in row['tests'])}."]
    if row["document"] and row["outcome"] != _NONE_FITS:
        lines.append(f"To be recorded in a {row['document']}.")
    return lines


def _notes(data: dict[str, Any]) -> list[str]:
    notes = dict.fromkeys(note for row in data["proposals"] for note in row["notes"])
    cautions = dict.fromkeys(row["rule_note"] for row in data["proposals"] if row["rule_note"])
    return [*notes, *cautions]


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
        if name == "acres" and row["activity"] == "salvage" and row["proposal_id"] != ASKED:
            needs.append(_acres_need(row["proposal_id"]))
        elif name == CIRCUMSTANCES:
            question = f"Are there extraordinary circumstances for {row['proposal_id']}?"
            needs.append(Need(f"{question} See {row['circumstances_rule']}."))
        else:
            needs.append(Need(f"How many {UNITS[name]} does {row['proposal_id']} have?"))
    return needs


def _acres_need(proposal_id: str) -> Need:
    return Need(
        question=f"How many acres does {proposal_id} cover? The cruised units would tell.",
        of=NEPA_ADVISOR,
        request=f"follow_up:screen_nepa proposal:{proposal_id} acres:{{acres}}",
        source=f"{CRUISING_ASSISTANT}.cruise_statistics",
    )
