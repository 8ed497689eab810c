"""The filters of a query as the panel writes them: `{"year": ">=2020", "fields": ["Medicine"]}`.

Written in one form, read in all that people and panels use. What cannot be read is named, never
applied in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..databases.kinds import field_named, kind_named
from ..databases.query import FIRST_YEAR, LAST_YEAR, Query

_YEAR = r"(\d{4})"
_OPEN = "present|now|today|"
_FORMS: tuple[tuple[str, str], ...] = (
    (rf">=\s*{_YEAR}", "since"),
    (rf"<=\s*{_YEAR}", "until"),
    (rf"(?:since|from)\s+{_YEAR}", "since"),
    (rf"until\s+{_YEAR}", "until"),
    (rf"{_YEAR}\s*[-–:]\s*{_YEAR}", "both"),
    (rf"{_YEAR}\s*(?:\+|[-–:]\s*(?:{_OPEN}))", "since"),
    (rf"[-–:]\s*{_YEAR}", "until"),
    (_YEAR, "only"),
)
_COMPILED = tuple((re.compile(pattern, re.I), kind) for pattern, kind in _FORMS)


def filters_of(query: Query) -> dict[str, Any]:
    """Return a query's filters for a plan or for `current_filters`."""
    found: dict[str, Any] = {}
    if query.since is not None and query.until is not None:
        found["year"] = f"{query.since}-{query.until}"
    elif query.since is not None:
        found["year"] = f">={query.since}"
    elif query.until is not None:
        found["year"] = f"<={query.until}"
    if query.fields:
        found["fields"] = list(query.fields)
    if query.kinds:
        found["kinds"] = list(query.kinds)
    return found


def with_filters(query: Query, filters: Mapping[str, Any]) -> tuple[Query, list[str]]:
    """Return the query with filters put on, and what of them could not be read."""
    odd: list[str] = []
    for name, value in filters.items():
        changed = _put(query, name, value) if value not in (None, "", [], {}) else query
        if changed is None:
            odd.append(f"{name}={value!r}"[:80])
        else:
            query = changed
    return query, odd


def _put(query: Query, name: str, value: Any) -> Query | None:
    match name:
        case "year" | "years":
            return _put_year(query, str(value).strip()) if isinstance(value, str | int) else None
        case "since":
            year = _year(str(value))
            return replace(query, since=year) if year else None
        case "until":
            year = _year(str(value))
            return replace(query, until=year) if year else None
        case "fields" | "field":
            fields = _named(value, field_named)
            return replace(query, fields=fields) if fields is not None else None
        case "kinds" | "kind" | "type" | "types":
            kinds = _named(value, kind_named)
            return replace(query, kinds=kinds) if kinds is not None else None
        case _:
            return None


def _put_year(query: Query, text: str) -> Query | None:
    for pattern, kind in _COMPILED:
        if found := pattern.fullmatch(text):
            years = [_year(each) for each in found.groups()]
            if not all(years):
                return None
            return replace(
                query,
                since=years[0] if kind != "until" else None,
                until=years[-1] if kind != "since" else None,
            )
    return None


def _year(text: str) -> int | None:
    return int(text) if text.isdecimal() and FIRST_YEAR <= int(text) <= LAST_YEAR else None


def _named(value: Any, name: Any) -> tuple[str, ...] | None:
    """Return the names of a list, or of one word; None if one of them is not known."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        return None
    # "all" is how a panel says that nothing is left out.
    found = [name(word) for word in words if word.casefold() != "all"]
    return tuple(dict.fromkeys(found)) if all(found) else None
