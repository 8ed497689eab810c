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


_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10, "the": 1, "": 1}
_SHIFTED = re.compile(
    r"\b(?:(?P<count>an?|one|two|three|four|five|ten|the|\d{1,2})\s+(?P<unit>year|month)s?\s+"
    r"(?P<way>later|after(?:wards?)?|on|earlier|before(?:hand)?|ago)\b(?!\s+the\s+fire)"
    r"|(?P<which>last|previous|next|following)\s+(?P<period>year|month))\b",
    re.I,
)
_BACK = frozenset({"earlier", "before", "beforehand", "ago", "last", "previous"})
_MONTHS_A_YEAR = 12


def is_shift(question: str) -> bool:
    """Return whether a question asks about a day by its distance from another: "a year later"."""
    return not day_asked(question) and _SHIFTED.search(question) is not None


def shifted_day(question: str, base: str) -> str:
    """Return the day that lies as far from `base` as the question says, as a month and its year."""
    found = _SHIFTED.search(question)
    if found is None or not re.match(r"\d{4}-\d{2}", base):
        return ""
    said = (found["count"] or "").lower()
    count = (
        int(said) if said.isdecimal() else _COUNTS[said.removesuffix("n") if said == "an" else said]
    )
    unit = (found["unit"] or found["period"]).lower()
    way = (found["way"] or found["which"]).lower()
    months = count * (_MONTHS_A_YEAR if unit == "year" else 1) * (-1 if way in _BACK else 1)
    year, month = divmod(
        int(base[:4]) * _MONTHS_A_YEAR + int(base[5:7]) - 1 + months, _MONTHS_A_YEAR
    )
    return f"{year:04}-{month + 1:02}"


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
