"""A failure as the researcher meets it: its class, its evidence, and remedies that are ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..databases.errors import ServiceErrorKind
from ..databases.query import Query

FailureType = (
    ServiceErrorKind
    | Literal[
        "empty_results",
        "ambiguous_terminology",
        "database_coverage_gap",
        "query_too_broad",
        "inconsistent_results",
        "too_few_results",
    ]
)
ActionKind = Literal[
    "try_synonyms",
    "different_database",
    "broaden_query",
    "narrow_query",
    "choose_meaning",
    "fix_query",
    "short_run",
    "retry",
    "work_offline",
    "other_subject",
]


@dataclass(frozen=True, slots=True)
class Action:
    """A search that can be planned as it is: which database (by key), which query.

    `count` is what it was measured to find, where measuring is free; `after` are seconds to wait.
    """

    kind: ActionKind
    label: str
    database: str
    query: Query
    count: int | None = None
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Remedies:
    """What is best, what comes next, and the question that only the researcher can answer."""

    primary: Action | None
    fallback: Action | None
    ask_researcher: str
    more: tuple[Action, ...] = ()
    """Further searches to choose from."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return all of them, the best first."""
        return tuple(e for e in (self.primary, self.fallback, *self.more) if e is not None)


@dataclass(frozen=True, slots=True)
class Failure:
    """`context` holds JSON values: the rule that spoke and the numbers it spoke from."""

    type: FailureType
    context: Mapping[str, Any]
    remedies: Remedies
