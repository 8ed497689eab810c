"""How many papers may be expected, from what is known: earlier searches, or a free local count.

Never from a model. Without either there is no expectation, and no result counts as low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..databases.database import LocalDatabase
from ..databases.query import Query, lint
from .case import Past, Range, asked
from .thesaurus import Thesaurus, spoken

# A count of yesterday may be off by half today, or by other words; more than that is news.
_LESS, _MORE = 0.5, 1.5


def expected_locally(library: LocalDatabase, query: Query, words: Thesaurus) -> Range | None:
    """Return what a local database has on the query's subject, under all its known names.

    The upper end is the count over synonyms, since that is all there is; the lower end is half of
    it. None if there is nothing on the subject, or the query cannot be asked.
    """
    if lint(query):
        return None
    concepts = [
        concept.widened(concept.synonyms) if concept.synonyms else concept
        for concept in words.concepts(query.text)
    ]
    count = library.count(replace(query, text=spoken(concepts)))
    count = max(count, library.count(query))
    return (max(1, math.ceil(count * _LESS)), count) if count else None


def expected_from_history(history: Sequence[Past], query: Query, database: str) -> Range | None:
    """Return what the same search in the same database, the last time, lets expect."""
    same = asked(query)
    counts = [
        past.count for past in history if past.database == database and asked(past.query) == same
    ]
    if not counts or not counts[-1]:
        return None
    return max(1, math.floor(counts[-1] * _LESS)), math.ceil(counts[-1] * _MORE)
