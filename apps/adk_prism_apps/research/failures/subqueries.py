"""Parts of a query that do find something, each with its count: only where counting is free.

They are looked for in the database that was searched, or, if that one cannot count, in the sample
library. The larger the part, the earlier it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from ..databases.database import LocalDatabase
from ..databases.query import Query, lint
from ..databases.syntax import terms_of
from .case import Case
from .evidence import Numbers
from .failure import Action
from .proposals import OFFLINE, action_of

# Of so many words there are 62 parts, which are counted in some hundredths of a second.
_MOST_WORDS = 6
_SHORTEST = 2
_MOST_SUBJECTS = 2


def parts(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The query with some of its words, with its filters first, then without them."""
    library = _library(case)
    words = _words(case.query)
    if library is None or len(words) < 2:
        return
    bare = replace(case.query, since=None, until=None, fields=(), kinds=())
    for base in dict.fromkeys((case.query, bare)):
        for size in range(len(words) - 1, 0, -1):
            queries = [replace(base, text=" ".join(each)) for each in combinations(words, size)]
            found = [(library.count(each), each) for each in queries if not lint(each)]
            for count, query in sorted(found, key=lambda each: -each[0]):
                if count:
                    label = f"Search the {library.label}, for a part of it: {query.text}"
                    yield action_of(case, "broaden_query", label, query, library)


def subjects(case: Case, numbers: Numbers) -> Iterator[Action]:
    """What the sample library has most of: the last resort, where no part of a query is found."""
    library = _library(case)
    known: Sequence[str] = getattr(library, "subjects", ())
    for name in known[:_MOST_SUBJECTS]:
        query = Query(f'"{name}"' if " " in name else name, limit=case.query.limit)
        label = f"See what the {library.label} is about: {name}" if library else name
        if not lint(query):
            yield action_of(case, "other_subject", label, query, library)


def _library(case: Case) -> LocalDatabase | None:
    """Return where counting is free."""
    for database in (case.database, case.databases.get(OFFLINE)):
        if isinstance(database, LocalDatabase):
            return database
    return None


def _words(query: Query) -> list[str]:
    words = [word for term in terms_of(query.text) for word in term.words if len(word) >= _SHORTEST]
    return list(dict.fromkeys(words))[:_MOST_WORDS]
