"""Which proposals a NEPA question is about: the fire's own, one of them, or one of the moment.

An activity with a size is a proposal of the moment; an activity alone means the fire's own proposals
of that kind, if there are any. A proposal's id alone means that one; with a size it completes that
one, and all are meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..library import DataProblem, Sheet
from ..library.records import Proposal, SourceNote
from ..library.tables import NepaTable
from .case import Case

ASKED = "Q1"
"""The id of a proposal of the moment."""


def choose_proposals(case: Case, table: NepaTable, inputs: Mapping[str, Any]) -> Sheet[Proposal]:
    activity = str(inputs.get("activity") or "").strip().lower()
    given = {
        key: inputs[key] for key in ("acres", "temp_road_miles") if inputs.get(key) is not None
    }
    for key, value in given.items():
        if not 0 <= value <= 10_000_000:
            raise DataProblem("bad argument", f"{key} is {value}; expected a size.", field=key)
    if not activity:
        return _from_file(case, str(inputs.get("proposal_id") or ""), given)
    if activity not in table.activities:
        known = ", ".join(table.activities)
        text = f"There is no rule for the activity {activity[:40]!r}. The table has: {known}."
        raise DataProblem("bad argument", text, field="activity")
    own = None if given else _of_activity(case, activity)
    if own is not None:
        return own
    name = f"{table.activities[activity]}, as asked"
    asked = Proposal(proposal_id=ASKED, name=name, activity=activity, **given)
    note = SourceNote("The question", "as it was asked", synthetic=False, dated=case.as_of)
    return Sheet("the question", (asked,), note)


def _of_activity(case: Case, activity: str) -> Sheet[Proposal] | None:
    """Return the fire's proposals of one kind; None if it has none, or no such file."""
    try:
        proposals = case.folder.proposals()
    except DataProblem as problem:
        if problem.kind == "missing file":
            return None
        raise
    kept = tuple(row for row in proposals.rows if row.activity == activity)
    return Sheet(proposals.file, kept, proposals.note) if kept else None


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
