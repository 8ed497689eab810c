"""Warnings about a search that did not fail: mostly known papers, or not all of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ..databases.outcome import Outcome
from ..databases.paper import identity

# At four of five already known, a database has little left to give.
_HEAVY = 0.8
# Of a handful of papers, all may be known by chance.
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class SearchWarning:
    """`text` has the numbers; it is what a receipt shows."""

    type: Literal["duplicate_heavy", "stale_or_truncated"]
    text: str


def search_warnings(outcome: Outcome, known: Collection[str]) -> tuple[SearchWarning, ...]:
    """Return the warnings of a search; `known` are the keys of papers found before it."""
    found = []
    count = len(outcome.papers)
    again = sum(1 for paper in outcome.papers if not _are_new(identity(paper), known))
    if count >= _FEWEST and again >= _HEAVY * count:
        text = f"{again} of {count} papers were known before; this database has little new"
        found.append(SearchWarning("duplicate_heavy", text))
    if outcome.truncated and outcome.total is not None:
        text = f"{count} of {outcome.total} papers were read"
        found.append(SearchWarning("stale_or_truncated", text))
    elif outcome.truncated:
        found.append(
            SearchWarning("stale_or_truncated", f"{count} papers were read; there are more")
        )
    return tuple(found)


def _are_new(keys: tuple[str, ...], known: Collection[str]) -> bool:
    return not any(key in known for key in keys)
