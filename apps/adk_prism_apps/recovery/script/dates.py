"""The day that a question asks about: an ISO date, a month with its year, `today`, or none.

A date counts where it says when to look ("as of November 2026"), not where it dates the fire.
"""

from __future__ import annotations

import re

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,"
        "september sep sept,october oct,november nov,december dec".split(","),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_ISO = re.compile(r"\b(\d{4}-\d{2}(?:-\d{2})?)\b")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+({_MONTH})\.?,?\s+(\d{{4}})\b", re.I)
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.I)
_MONTH_ONLY = re.compile(rf"\b({_MONTH})\.?,?\s+(?:of\s+)?(\d{{4}})\b", re.I)
_YEAR_ONLY = re.compile(r"\bas of\s+(?:the year\s+)?(\d{4})\b(?!-)", re.I)
_TODAY = re.compile(
    r"\b(?:today|as of now|this (?:week|month|year)|nowadays|currently in force|still good law"
    r"|(?:current|today['’]s|present)\s+(?:\w+\s+)?(?:law|rules?|regulations?|procedures?))\b",
    re.I,
)
# What makes a date one of the fire, before it or after it.
_DATES_THE_FIRE = re.compile(
    r"\b(?:start|began|begin|burn|ignit|happen|occur|broke)\w*\W+(?:\w+\W+){0,2}$", re.I
)
_OF_FIRE = re.compile(r"\W*(?:\w+\W+){0,2}fire\b", re.I)


def day_asked(question: str) -> str:
    """Return the day as `find_fire` takes it, or an empty text if the question names none."""
    for pattern, read in _READERS:
        for found in pattern.finditer(question):
            before, after = question[: found.start()], question[found.end() :]
            if not _DATES_THE_FIRE.search(before) and not _OF_FIRE.match(after):
                return read(found)
    return "today" if _TODAY.search(question) else ""


def _iso(found: re.Match[str]) -> str:
    return found.group(1)


def _day_first(found: re.Match[str]) -> str:
    day, month, year = found.groups()
    return f"{year}-{_MONTHS[month.lower()]:02}-{int(day):02}"


def _month_first(found: re.Match[str]) -> str:
    month, day, year = found.groups()
    return f"{year}-{_MONTHS[month.lower()]:02}-{int(day):02}"


def _month_only(found: re.Match[str]) -> str:
    month, year = found.groups()
    return f"{year}-{_MONTHS[month.lower()]:02}"


def _year_end(found: re.Match[str]) -> str:
    # A year as a whole is asked about as it ended, with all that changed in it.
    return f"{found.group(1)}-12-31"


_READERS = (
    (_ISO, _iso),
    (_DAY_FIRST, _day_first),
    (_MONTH_FIRST, _month_first),
    (_MONTH_ONLY, _month_only),
    (_YEAR_ONLY, _year_end),
)
