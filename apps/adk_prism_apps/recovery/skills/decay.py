"""How much volume dead trees have lost by a moment, as an interval, from marks in a table.

Loss only grows. So between two marks it is at least the earlier and at most the later one; past the
last mark nothing bounds it from above; a species without a row is unknown, not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..library.tables import Deterioration

_ALL = 1.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is known only to lie between two others."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Loss:
    """The share lost, and the rows of the table that say so."""

    share: Interval
    rows: tuple[Deterioration, ...]

    @property
    def analogue(self) -> bool:
        """Whether the evidence is about another kind of death."""
        return any(row.analogue for row in self.rows)


def loss_of(species: str, years: float, table: Sequence[Deterioration]) -> Loss | None:
    """Return a species' loss after some years, or None if the table does not have it."""
    marks = sorted((row for row in table if row.species == species), key=lambda row: row.year)
    if not marks:
        return None
    before = [row for row in marks if row.year <= years]
    after = [row for row in marks if row.year >= years]
    low = max((row.loss_low for row in before), default=0.0)
    high = _high(after[0]) if after else _ALL
    used = tuple(dict.fromkeys((*before[-1:], *after[:1])))
    return Loss(Interval(low, max(low, high)), used)


def _high(row: Deterioration) -> float:
    return _ALL if row.loss_high is None else row.loss_high
