"""What is asked of a database, and what is wrong with it before it is sent.

The text is a plain one: words, "phrases", AND, OR, NOT in capitals, parentheses. Each database says
it in its own syntax (`syntax.py`), so nothing typed here is read as somebody's operator.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from .syntax import MOST_TERMS, terms_of

# Longer than any search that a person writes; services refuse URLs of a few thousand characters.
MOST_CHARACTERS = 500
# A search is read by a person; a larger one is a download, which services offer otherwise.
MOST_RESULTS = 200
FIRST_YEAR, LAST_YEAR = 1500, 2100


@dataclass(frozen=True, slots=True)
class Query:
    """Words and filters. Years are inclusive; no fields or kinds means all; `limit` is of papers."""

    text: str
    since: int | None = None
    until: int | None = None
    fields: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a query: the rule, and a sentence with what came and what is expected."""

    rule: str
    detail: str


def lint(query: Query) -> tuple[Fault, ...]:
    """Return what is wrong with the query; nothing means that it can be sent."""
    text = query.text
    found = [Fault(rule, detail) for rule, broken, detail in _TEXT_RULES if broken(text)]
    if not (1 <= query.limit <= MOST_RESULTS):
        found.append(
            Fault("limit", f"The limit is {query.limit}; 1 to {MOST_RESULTS} is possible.")
        )
    return (*found, *_year_faults(query))


def repaired(text: str) -> str:
    """Return the text without its faults: plain, balanced, short. Empty if nothing is left."""
    text = " ".join(_without_controls(text).split())
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS + 1].rsplit(" ", 1)[0][:MOST_CHARACTERS]
    text = " ".join(text.split(" ")[:MOST_TERMS])
    if text.count('"') % 2:
        text = text.replace('"', " ")
    if not _balanced(text):
        text = text.replace("(", " ").replace(")", " ")
    text = " ".join(text.split())
    return text if terms_of(text) else ""


def filters_of(query: Query) -> tuple[str, ...]:
    """Return the filters as a receipt shows them, such as `year>=2020`."""
    shown = (
        f"year>={query.since}" if query.since is not None else "",
        f"year<={query.until}" if query.until is not None else "",
        f"fields={','.join(query.fields)}" if query.fields else "",
        f"kinds={','.join(query.kinds)}" if query.kinds else "",
    )
    return tuple(text for text in shown if text)


def _balanced(text: str) -> bool:
    depth = 0
    for sign in re.sub(r'"[^"]*"', "", text):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return False
    return depth == 0


def _without_controls(text: str) -> str:
    return "".join(
        " " if unicodedata.category(sign) in ("Cc", "Cf", "Cs") else sign for sign in text
    )


_TEXT_RULES: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("empty", lambda text: not terms_of(text), "There is no word to search for."),
    (
        "too_long",
        lambda text: len(text) > MOST_CHARACTERS,
        f"The query is longer than {MOST_CHARACTERS} characters.",
    ),
    (
        "too_many_words",
        lambda text: len(text.split()) > MOST_TERMS,
        f"The query has more than {MOST_TERMS} words.",
    ),
    (
        "control_characters",
        lambda text: _without_controls(text) != text,
        "The query contains line breaks or other control characters.",
    ),
    ("quotes", lambda text: text.count('"') % 2 == 1, "A quotation mark is not closed."),
    ("parentheses", lambda text: not _balanced(text), "A parenthesis is not closed or not opened."),
)


def _year_faults(query: Query) -> list[Fault]:
    years = [year for year in (query.since, query.until) if year is not None]
    found = [
        Fault("year", f"{year} is not a year between {FIRST_YEAR} and {LAST_YEAR}.")
        for year in years
        if not FIRST_YEAR <= year <= LAST_YEAR
    ]
    if len(years) == 2 and years[0] > years[1]:
        found.append(Fault("year_order", f"The years run from {years[0]} back to {years[1]}."))
    return found
