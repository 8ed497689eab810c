"""What a researcher wants changed in a plan, read from words such as "since 2021, in arXiv, only reviews".

The grammar is a table of patterns (`change_rules`). What a pattern takes becomes a
clause border, so that changes can be combined in any order, with or without commas and "and". Filters come
first; then words to add, leave out, replace or search for instead, which reach to the next border. What is
left of a message after that, without the words around a request ("I'd rather have"), was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..databases.kinds import KINDS
from ..databases.query import Query
from ..databases.syntax import stem
from .change_rules import (
    BORDER,
    CLAUSES,
    EXACT,
    FILTER_RULES,
    FOREIGN,
    META,
    NOT_BUT,
    POINTING,
    TRAILING,
    WORD_RULES,
    Changes,
    Patterns,
    plain,
    swap,
    tidy,
)


def read_changes(text: str, year: int, databases: Mapping[str, str]) -> Changes:
    """Read changes; `year` is this year's, `databases` are names in lower case with their keys."""
    changes = Changes()
    if exact := EXACT.search(text):
        changes.query = exact.group(1).strip()
        text = text[: exact.start()]
    text = META.sub(BORDER, _take_filters(changes, text, year, databases))
    text = _take(changes, text, year, ((NOT_BUT, swap),))
    text = CLAUSES.sub(BORDER, text)
    text = _take(changes, text, year, WORD_RULES)
    changes.rest = ", ".join(filter(None, (changes.rest, plain(text))))
    return changes


def read_filters(text: str, year: int, databases: Mapping[str, str]) -> Changes:
    """Read what a question says about years, kinds and the database; its words are its own."""
    changes = Changes()
    text = _take_filters(changes, text, year, databases)
    changes.rest = tidy(f"{text.replace(BORDER, ' ')} {changes.rest}")
    return changes


def _take_filters(changes: Changes, text: str, year: int, databases: Mapping[str, str]) -> str:
    text = _take_database(changes, text.replace("’", "'"), databases)
    return _take(changes, text, year, FILTER_RULES)


def _take(changes: Changes, text: str, year: int, rules: Patterns) -> str:
    for pattern, take in rules:
        for found in pattern.finditer(text):
            take(changes, [each for each in found.groups() if each is not None], year)
        text = pattern.sub(BORDER, text)
    return text


def changed_query(query: Query, changes: Changes, *, text: str = "") -> Query:
    """Return a query with the changes; `text` replaces its words."""
    return replace(
        query,
        text=_changed_words(text or changes.query or query.text, changes),
        kinds=_changed_kinds(query.kinds, changes),
        fields=tuple(changes.fields) or (() if changes.any_field else query.fields),
        limit=changes.limit or query.limit,
        **_changed_years(query, changes),
    )


_UNIT = re.compile(r'\([^()]*\)|"[^"]*"|\S+')
"""What of a query is left out as a whole: a word, a phrase, or a group of names for one thing."""


def _changed_words(text: str, changes: Changes) -> str:
    """Return the words with those added, and without those dropped: these are excluded if not there."""
    units = [(unit, {*map(_stemmed, unit.split())} - {"or"}) for unit in _UNIT.findall(text)]
    present = {word for _, words in units for word in words}
    if changes.only and present.issuperset(
        _stemmed(w) for each in changes.only for w in each.split()
    ):
        return " ".join(changes.only)
    dropped = {_stemmed(word) for phrase in changes.drop for word in phrase.split()}
    words = [unit for unit, own in units if not _is_dropped(unit, own, dropped)]
    added = [
        each for each in (*changes.add, *changes.only) if _stemmed(each) not in present - dropped
    ]
    excluded = [each for each in changes.drop if present.isdisjoint(map(_stemmed, each.split()))]
    return " ".join([*words, *map(_quoted, added), *(f"NOT {_quoted(each)}" for each in excluded)])


def _is_dropped(unit: str, own: set[str], dropped: set[str]) -> bool:
    """Return whether a unit goes: a phrase with all of its words, a group with any of its names."""
    return not own.isdisjoint(dropped) if unit.startswith("(") else bool(own) and own <= dropped


def _stemmed(word: str) -> str:
    return stem(word.casefold().strip('"()').removesuffix("s"))


def _quoted(phrase: str) -> str:
    return f'"{phrase}"' if " " in phrase else phrase


def _changed_years(query: Query, changes: Changes) -> dict[str, int | None]:
    if changes.since is not None or changes.until is not None:
        return {"since": changes.since, "until": changes.until}
    return {"since": None, "until": None} if changes.any_year else {}


def _changed_kinds(kinds: tuple[str, ...], changes: Changes) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(changes.kinds)) or (() if changes.any_kind else kinds)
    if not changes.without_kinds:
        return chosen
    return tuple(kind for kind in chosen or KINDS if kind not in changes.without_kinds)


def _take_database(changes: Changes, text: str, databases: Mapping[str, str]) -> str:
    """Take the first database that is named, longest name first, with the words that point at it."""
    if found := FOREIGN.search(text):
        changes.unsupported = found.group(1) or found.group(2)
        text = text[: found.start()] + BORDER + text[found.end() :]
    names = "|".join(re.escape(name) for name in sorted(databases, key=len, reverse=True))
    named = (
        re.search(rf"\b(not\s+|don't\s+)?{POINTING}({names})\b{TRAILING}", text, re.I)
        if names
        else None
    )
    if named is None:
        return text
    if named.group(1):
        # "not in arXiv" asks for any other database, which no plan can say: it is not understood.
        changes.rest = named.group().strip()
        return text[: named.start()] + BORDER + text[named.end() :]
    changes.database = databases[named.group(2).casefold()]
    return text[: named.start()] + BORDER + text[named.end() :]
