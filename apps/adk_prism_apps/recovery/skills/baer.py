"""The clock of Burned Area Emergency Response, from the day of full containment.

Follows FSM 2523.06 as read in an expired interim directive (2017 to 2018), which is why the text
says "check current issuance": a request within 7 days of containment, treatments within a year,
monitoring for up to three years. Without a containment date there is no clock and no confidence.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from adk_prism.proof import Factor, Proof

from .. import confidence
from ..calendar_day import years_later
from ..finding import Finding, Need
from .boundary import incident_citation
from .case import Case

_REQUEST_DAYS = 7
_TREATMENT_YEARS = 1
_MONITORING_YEARS = 3
_SCOPE = "BAER is emergency stabilisation: not rehabilitation, salvage or suppression repair."


def baer_clock(case: Case) -> Finding:
    """Return the dates that follow from containment, or say that they cannot be known."""
    contained = case.incident.contained_on
    data = case.data | {
        "contained_on": contained.isoformat() if contained else None,
        "last_reported": _last_report(case),
        "dates": _dates(contained, case.as_of) if contained else [],
    }
    needs = () if contained else (Need("On which day was the fire fully contained?"),)
    return Finding(
        title="BAER clock",
        headline=_headline(data),
        body=_body(data),
        data=data,
        proof=Proof(
            factors=_factors(case) if contained else (),
            citations=(case.tables.citation("fsm-2523"), incident_citation(case)),
            reasoning=(
                "Looked for the day of full containment.",
                "Counted from it, if it is known.",
            ),
        ),
        synthetic=case.incident.synthetic,
        needs=needs,
    )


def _dates(contained: date, as_of: date) -> list[dict[str, Any]]:
    ends = (
        ("request (FS-2500-8)", contained + timedelta(days=_REQUEST_DAYS)),
        ("treatments in place", years_later(contained, _TREATMENT_YEARS)),
        ("monitoring", years_later(contained, _MONITORING_YEARS)),
    )
    return [{"what": what, "until": end.isoformat(), "past": as_of > end} for what, end in ends]


def _last_report(case: Case) -> dict[str, Any] | None:
    reports = [growth for growth in case.incident.growth if growth.contained_pct is not None]
    if not reports:
        return None
    last = max(reports, key=lambda growth: growth.date)
    return {"date": last.date.isoformat(), "contained_pct": last.contained_pct}


def _factors(case: Case) -> tuple[Factor, ...]:
    why = "the directive was read in an expired issuance"
    return (confidence.weakness(case.tables.confidence(), "secondary_source", 1.0, why),)


def _headline(data: dict[str, Any]) -> str:
    if data["contained_on"] is None:
        report = data["last_reported"]
        known = (
            f"; the last report is {report['contained_pct']:g}% on {report['date']}"
            if report
            else ""
        )
        return (
            f"The BAER dates cannot be computed: the day of full containment is not known{known}."
        )
    dates = ", ".join(f"{entry['what']} until {entry['until']}" for entry in data["dates"])
    return f"Contained on {data['contained_on']}: {dates}."


def _body(data: dict[str, Any]) -> tuple[str, ...]:
    past = [entry["what"] for entry in data["dates"] if entry["past"]]
    lines = [f"Past on {data['as_of']}: {', '.join(past)}."] if past else []
    return (*lines, _SCOPE, "FSM 2523 (check current issuance).")
