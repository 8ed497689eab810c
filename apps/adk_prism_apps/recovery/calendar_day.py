"""The date of an assessment. It is always explicit: given, or the fire's scenario date."""

from __future__ import annotations

import re
from datetime import date

from .library.problem import DataProblem
from .library.records import Incident

_MONTH = re.compile(r"(\d{4})-(\d{2})")
DAYS_PER_YEAR = 365.25


def resolve_day(as_of: str, incident: Incident, today: date | None = None) -> date:
    """Return the day: ISO date, ISO month (its first day), `today`, or the scenario date for ''.

    Raise `DataProblem` for anything else, and for a day before the fire.
    """
    text = as_of.strip().lower()
    if not text:
        return incident.scenario_date
    day = (today or date.today()) if text == "today" else _read_day(text)
    if day < incident.started_on:
        message = f"as_of is {day}, but the fire began only on {incident.started_on}."
        raise DataProblem("bad argument", message, field="as_of")
    return day


def _read_day(text: str) -> date:
    try:
        return date.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
    except ValueError:
        message = f"as_of is {text[:40]!r}; expected a date such as 2022-12-01, or today."
        raise DataProblem("bad argument", message, field="as_of") from None


def years_between(start: date, end: date) -> float:
    """Return the years from one day to another, never less than none."""
    return max(0.0, (end - start).days / DAYS_PER_YEAR)


def years_later(day: date, years: int) -> date:
    """Return the same day of a later year; 29 February becomes the 28th."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)
