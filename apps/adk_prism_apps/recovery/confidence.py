"""How confidence follows from data: the product of named effects, each from 0 to 1.

An effect is one of three. A *share* is measured in the rows (how much was surveyed, how far from a
class break, how small the sampling error) and multiplies as it is. An *age* counts in full up to a
limit and then as limit / age. A *weakness* that the data names but does not measure costs
`weakness_cost` for the share of the data that has it. Limits and cost are the only numbers that are
not in the data; they stand, with their reasons, in `reference/confidence.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from adk_prism.proof import Factor

from .library.sheet import Sheet
from .library.tables import ConfidencePolicy


def share(name: str, measured: float, why: str) -> Factor:
    """Return a factor that multiplies by what was measured, kept within 0 and 1."""
    kept = round(min(1.0, max(0.0, measured)), 4)
    return Factor(name, kept, kept, why)


def weakness(policy: ConfidencePolicy, name: str, affected: float, why: str) -> Factor:
    """Return a factor for a weakness of the given share of the data."""
    return Factor(name, round(affected, 4), round(1 - policy.weakness_cost * affected, 4), why)


def synthetic(policy: ConfidencePolicy, *sheets: Sheet[Any] | None) -> Factor:
    """Return the factor for made-up rows among those of the fire's own files."""
    flags = [flag for sheet in sheets if sheet is not None for flag in _flags(sheet)]
    affected = sum(flags) / len(flags) if flags else 0.0
    why = "made-up rows say nothing about the ground" if affected else "no row is made up"
    return weakness(policy, "synthetic", affected, why)


def age(policy: ConfidencePolicy, kind: str, seen: Iterable[date], as_of: date) -> Factor:
    """Return the factor for how long ago things were observed; `kind` names the limit."""
    limit = policy.age_limit_days[kind]
    days = [max(0, (as_of - day).days) for day in seen]
    effects = [1.0 if days_old <= limit else limit / days_old for days_old in days]
    effect = sum(effects) / len(effects) if effects else 0.0
    oldest = max(days, default=0)
    why = f"the oldest {kind} is {oldest} days old; up to {limit} days counts in full"
    return Factor("data_age", oldest, round(effect, 4), why)


def any_synthetic(*sheets: Sheet[Any] | None) -> bool:
    """Return whether any of the files is made up."""
    return any(sheet is not None and sheet.synthetic for sheet in sheets)


def _flags(sheet: Sheet[Any]) -> Sequence[bool]:
    return [sheet.note.synthetic or bool(getattr(row, "synthetic", False)) for row in sheet.rows]
