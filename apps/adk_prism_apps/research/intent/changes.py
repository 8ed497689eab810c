"""What a researcher wants changed in a plan, read from words such as "since 2021, in arXiv".

Each change is a pattern and what it means; whatever no pattern takes is left over. A plan that is
asked to be modified takes left-over words as its new query, a question takes them as its subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..databases.kinds import kind_named
from ..databases.query import Query

_YEAR = r"((?:1[5-9]|20)\d\d)"


@dataclass(slots=True)
class Changes:
    """What is to change; None and empty mean as it was."""

    since: int | None = None
    until: int | None = None
    kinds: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    database: str = ""
    add: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    limit: int | None = None
    any_year: bool = False
    query: str = ""
    rest: str = ""
    """What was not understood as a change."""

    @property
    def any(self) -> bool:
        """Whether anything is to change."""
        return self != Changes(rest=self.rest)


Take = Callable[[Changes, Sequence[str], int], None]


def _since(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = int(groups[0])


def _after(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = int(groups[0]) + 1


def _until(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.until = int(groups[0])


def _before(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.until = int(groups[0]) - 1


def _between(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since, changes.until = sorted((int(groups[0]), int(groups[1])))


def _only(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = changes.until = int(groups[0])


def _last_years(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - (_number(groups[0]) - 1)


def _any_year(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.any_year = True


def _limit(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.limit = int(groups[0])


def _add(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.add += _listed(groups[0])


def _drop(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.drop += _listed(groups[0])


def _query(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.query = groups[0].strip()


def _fields(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.fields += _listed(groups[0])


_TERMS = r"([^,;.\n]+)"
_PATTERNS: tuple[tuple[str, Take], ...] = (
    (r"\bquery\s*[:=]\s*(.+)", _query),
    (rf"\b(?:between|from)\s+{_YEAR}\s+(?:and|to|until|-|–)\s*{_YEAR}\b", _between),
    (rf"\b{_YEAR}\s*(?:-|–|to)\s*{_YEAR}\b", _between),
    (rf"\b{_YEAR}\s*(?:-|–|to)\s*(?:present|now|today)\b", _since),
    (rf"(?:\byear\s*)?>=\s*{_YEAR}\b", _since),
    (rf"(?:\byear\s*)?<=\s*{_YEAR}\b", _until),
    (rf"\b(?:since|from|starting(?: in)?)\s+{_YEAR}\b", _since),
    (rf"\b{_YEAR}\s*\+|\b{_YEAR}\s+(?:onwards?|or later|and later)\b", _since),
    (rf"\bafter\s+{_YEAR}\b", _after),
    (rf"\b(?:until|till|up to|to)\s+{_YEAR}\b", _until),
    (rf"\bbefore\s+{_YEAR}\b", _before),
    (rf"\b(?:only\s+)?(?:in|of|from the year|published in)\s+{_YEAR}\b", _only),
    (r"\b(?:in |from |of )?(?:the )?(?:last|past)\s+(\d+|\w+)\s+years?\b", _last_years),
    (
        r"\b(?:any|all|every)\s+years?\b|\b(?:no|without a?)\s*(?:year|date)s?(?: filter)?\b",
        _any_year,
    ),
    (
        r"\b(?:limit|at most|max(?:imum)?|top)\s*[:=]?\s*(\d{1,3})\b(?:\s+(?:papers|results))?",
        _limit,
    ),
    (rf"\bfields?\s*[:=]\s*{_TERMS}", _fields),
    (rf"\b(?:add|also|plus|and also|include)\s+{_TERMS}", _add),
    (rf"\b(?:without|drop|remove|exclude|not about|leave out)\s+{_TERMS}", _drop),
)
_Patterns = tuple[tuple[re.Pattern[str], Take], ...]
_COMPILED: _Patterns = tuple((re.compile(pattern, re.I), take) for pattern, take in _PATTERNS)
_FILTERS: _Patterns = tuple(
    (pattern, take) for pattern, take in _COMPILED if take not in (_add, _drop, _query)
)

_KIND = r"((?:[\w-]+ )?[\w-]+)"
_KINDS = re.compile(rf"\bonly\s+{_KIND}|\b{_KIND}\s+only\b|\bkinds?\s*[:=]\s*{_KIND}", re.I)
_NUMBERS = {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten".split())
}


def read_changes(text: str, year: int, databases: Mapping[str, str]) -> Changes:
    """Read changes; `year` is this year's, `databases` are names in lower case with their keys."""
    return _read(text, year, databases, _COMPILED)


def read_filters(text: str, year: int, databases: Mapping[str, str]) -> Changes:
    """Read what a question says about years, kinds and the database; its words are its own."""
    return _read(text, year, databases, _FILTERS)


def _read(text: str, year: int, databases: Mapping[str, str], patterns: _Patterns) -> Changes:
    changes = Changes()
    text = _take_kinds(changes, _take_database(changes, text, databases))
    for pattern, take in patterns:
        for found in pattern.finditer(text):
            take(changes, [each for each in found.groups() if each is not None], year)
        text = pattern.sub(" ", text)
    changes.rest = _tidy(text)
    return changes


def changed_query(query: Query, changes: Changes, *, takes_rest: bool) -> Query:
    """Return a query with the changes; its words may be replaced by those that were left over."""
    text = changes.query or (changes.rest if takes_rest and changes.rest else query.text)
    dropped = {word.casefold() for phrase in changes.drop for word in phrase.split()}
    words = [word for word in text.split() if word.casefold().strip('"') not in dropped]
    words += [f'"{each}"' if " " in each else each for each in changes.add]
    years = (None, None) if changes.any_year else (query.since, query.until)
    if changes.since is not None or changes.until is not None:
        years = (changes.since, changes.until)
    return replace(
        query,
        text=" ".join(words),
        since=years[0],
        until=years[1],
        kinds=tuple(changes.kinds) or query.kinds,
        fields=tuple(changes.fields) or query.fields,
        limit=changes.limit or query.limit,
    )


def _take_kinds(changes: Changes, text: str) -> str:
    def take(found: re.Match[str]) -> str:
        words = next(each for each in found.groups() if each)
        for named in (words, words.rpartition(" ")[2], words.partition(" ")[0]):
            if kind := kind_named(named):
                changes.kinds.append(kind)
                left, _, right = words.partition(named)
                return f"{left} {right}"
        return found.group()

    return _KINDS.sub(take, text)


def _take_database(changes: Changes, text: str, databases: Mapping[str, str]) -> str:
    """Take the first database that is named, longest name first, with the words that point at it."""
    names = "|".join(re.escape(name) for name in sorted(databases, key=len, reverse=True))
    pattern = re.compile(
        rf"\b(?:(?:search|use|try|ask|query)\s+)?(?:(?:in|on|with|from|via|using)\s+)?(?:the\s+)?"
        rf"({names})\b(?:\s+(?:database|instead|too|as well)\b)*",
        re.I,
    )
    found = pattern.search(text) if names else None
    if found is None:
        return text
    changes.database = databases[found.group(1).casefold()]
    return f"{text[: found.start()]} {text[found.end() :]}"


def _number(text: str) -> int:
    return max(1, int(text)) if text.isdigit() else _NUMBERS.get(text.casefold(), 1)


def _listed(text: str) -> list[str]:
    pieces = re.split(r"\s*,\s*|\s+and\s+", text.strip())
    return [piece.strip(" .;:'\"") for piece in pieces if piece.strip(" .;:'\"")]


def _tidy(text: str) -> str:
    text = re.sub(r"\s+([,;.?!])", r"\1", re.sub(r"\s+", " ", text)).strip(" ,;:.-")
    return re.sub(
        r"^(?:but|and|please|only|with|just|instead|for)\b\s*", "", text, flags=re.I
    ).strip()
