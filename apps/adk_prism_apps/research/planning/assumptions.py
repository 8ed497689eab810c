"""What the researcher's assumptions mean for a plan: years, kinds, a database, words to add or leave out.

"Clinical applications only" adds a word and prefers databases of its field; "2020-present" and "only
reviews" are filters; "no animals" leaves a word out. The plan names what cannot be applied to
a search; nothing is dropped silently. What the question itself says comes before any assumption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..databases.kinds import field_named, kind_named
from ..databases.query import Query, repaired
from ..databases.syntax import stem, words_of
from ..failures import thesaurus
from ..intent.change_rules import Changes
from ..intent.changes import read_filters
from .question import query_of

MOST_ASSUMPTIONS = 12
"""Assumptions that are read; a longer list does not fit one search."""
_LONGEST = 200
_MOST_WORDS = 3
_REVIEWED = ("article", "conference", "review")

_ONLY = re.compile(
    r"\b(?:only|just|exclusively|solely|limited to|restricted to|restrict to|focus(?:ed)? on|must be|"
    r"has to be|within)\b",
    re.I,
)
_NOT = re.compile(
    r"^\s*(?:no|not|without|exclude|excluding|except|ignore|leave out)\b\s*(.+)", re.I
)
_PEERS = re.compile(r"\bpeer[- ]?reviewed\b", re.I)
_DULL = re.compile(
    r"\b(?:applications?|uses?|settings?|contexts?|domains?|fields?|areas?|topics?|work|works|research|"
    r"studies|papers?|articles?|publications?|literature|results?|data)\b",
    re.I,
)
_NOT_FILTERED = re.compile(r"\b(?:english|german|french|spanish|chinese|languages?)\b", re.I)


@dataclass(frozen=True, slots=True)
class Assumed:
    """A query as the assumptions make it, the database that they want, and what was done for each."""

    query: Query
    database: str = ""
    field: str = ""
    """Field whose databases are preferred; empty: none."""
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the notes as a plan shows them."""
        return f"Assumptions: {'; '.join(self.notes)}." if self.notes else ""


def assume(
    assumptions: Sequence[str], query: Query, year: int, names: Mapping[str, str]
) -> Assumed:
    """Apply assumptions to a query that a question was made into; `names` are those of databases."""
    made = Assumed(query)
    for text in assumptions[:MOST_ASSUMPTIONS]:
        plain = " ".join(text[:_LONGEST].split())
        if plain:
            made = _applied(made, plain, year, names)
    left = len(assumptions) - MOST_ASSUMPTIONS
    return replace(made, notes=(*made.notes, f"{left} more not read")) if left > 0 else made


def _applied(made: Assumed, text: str, year: int, names: Mapping[str, str]) -> Assumed:
    if _NOT_FILTERED.search(text):
        return _noted(made, text, ["not applied: no database is asked for a language"])
    changes = read_filters(text, year, names)
    done: list[str] = []
    query = _filtered(made.query, changes, text, done)
    database = made.database or changes.database
    if changes.database and not made.database:
        done.append(f"database {changes.database}")
    query, field = _worded(query, changes.rest, done, sure=bool(_ONLY.search(text)))
    if not done:
        already = query != made.query or _says(query.text, changes.rest)
        done = ["as the question says"] if already else ["kept in mind, not applied to the search"]
    return _noted(
        replace(made, query=query, database=database, field=made.field or field), text, done
    )


def _noted(made: Assumed, text: str, done: Sequence[str]) -> Assumed:
    return replace(made, notes=(*made.notes, f'"{text}" ({", ".join(done)})'))


def _filtered(query: Query, changes: Changes, text: str, done: list[str]) -> Query:
    """Apply years, kinds and fields, each only if the question has none."""
    if (changes.since or changes.until) and query.since is None and query.until is None:
        query = replace(query, since=changes.since, until=changes.until)
        done.append(f"years {changes.since or '…'}-{changes.until or 'now'}")
    named = kind_named(_DULL.sub(" ", text) if _DULL.sub(" ", text).strip() else text)
    kinds = (
        *changes.kinds,
        *([named] if named else ()),
        *(_REVIEWED if _PEERS.search(text) else ()),
    )
    if kinds and not query.kinds:
        query = replace(query, kinds=tuple(dict.fromkeys(kinds)))
        done.append(f"kinds {', '.join(query.kinds)}")
    fields = tuple(filter(None, map(field_named, changes.fields)))
    if fields and not query.fields:
        query = replace(query, fields=fields)
        done.append(f"fields {', '.join(fields)}")
    return query


def _worded(query: Query, rest: str, done: list[str], *, sure: bool) -> tuple[Query, str]:
    """Add the words that an assumption narrows by, or leave those out that it excludes."""
    if left_out := _NOT.match(rest):
        words = [word for word in _subject(left_out.group(1)) if word not in words_of(query.text)]
        if words:
            done.append(f"without {' '.join(words)}")
        return replace(
            query, text=repaired(" ".join([query.text, *(f"NOT {w}" for w in words)]))
        ), ""
    words = _subject(_PEERS.sub(" ", _ONLY.sub(" ", rest)))
    fields = list(_fields(words))
    if not words or len(words) > _MOST_WORDS or not (sure or fields) or kind_named(" ".join(words)):
        return query, ""
    missing = [word for word in words if not _says(query.text, word)]
    if missing:
        done.append(f"adds {' '.join(missing)}")
    if fields:
        done.append(f"prefers databases of {fields[0]}")
    return replace(query, text=repaired(" ".join([query.text, *missing]))), (fields or [""])[0]


def _subject(text: str) -> list[str]:
    return [word.casefold() for word in query_of(_DULL.sub(" ", text)).split()]


def _fields(words: Sequence[str]) -> Iterator[str]:
    """Yield the fields of science that words belong to."""
    for text in (" ".join(words), *words):
        if field := field_named(text):
            yield field
        yield from (each.field for each in thesaurus().concepts(text) if each.field)


def _says(query: str, text: str) -> bool:
    """Return whether a query has all words of a text, in any form."""
    there = {stem(word) for word in words_of(query)}
    wanted = {stem(word) for word in words_of(" ".join(_subject(text)))}
    return bool(wanted) and wanted <= there
