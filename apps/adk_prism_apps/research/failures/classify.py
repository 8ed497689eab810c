"""Which class of failure a search belongs to: the rules in order, the first that holds wins.

What a service said comes first, then contradictions, then nothing at all, then too few with a reason,
then too few, too many, and last what is there but closed. Every answer has the numbers that it rests on
and remedies that can be run as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..databases.database import AnyDatabase
from ..databases.outcome import Outcome
from ..databases.query import Query, filters_of
from ..databases.registry import DATABASES
from .case import Case, Past, Probes, Range
from .evidence import (
    Numbers,
    ambiguous,
    coverage_gap,
    empty,
    inconsistent,
    operational,
    restricted,
    too_broad,
    too_few,
)
from .failure import Failure, FailureType
from .remedies import remedies_for
from .thesaurus import thesaurus

_RULES: tuple[tuple[FailureType, Callable[[Case], Numbers | None]], ...] = (
    ("inconsistent_results", inconsistent),
    ("empty_results", empty),
    ("database_coverage_gap", coverage_gap),
    ("ambiguous_terminology", ambiguous),
    ("too_few_results", too_few),
    ("query_too_broad", too_broad),
    ("access_restricted", restricted),
)


def classify(
    outcome: Outcome,
    query: Query,
    database: AnyDatabase,
    *,
    databases: Mapping[str, AnyDatabase] = DATABASES,
    expected: Range | None = None,
    history: Sequence[Past] = (),
    probes: Probes | None = None,
) -> Failure | None:
    """Return what is wrong with a search, or None if nothing is.

    `databases` are those that a remedy may name. Without `expected` nothing is called low or high.
    """
    case = Case(
        outcome, query, database, databases, thesaurus(), expected, history, probes or Probes()
    )
    numbers = operational(case)
    if numbers is not None and outcome.error is not None:
        return _failure(outcome.error.kind, case, numbers)
    for name, rule in _RULES:
        numbers = rule(case)
        if numbers is not None:
            return _failure(name, case, numbers)
    return None


def _failure(name: FailureType, case: Case, numbers: Numbers) -> Failure:
    context: dict[str, Any] = {
        "database": case.database.label,
        "query": case.query.text,
        "filters": list(filters_of(case.query)),
        "results_count": case.count,
    }
    if case.expected is not None:
        context |= {"expected_count": case.expected[0], "expected": list(case.expected)}
    context |= numbers
    return Failure(name, context, remedies_for(name, case, numbers))
