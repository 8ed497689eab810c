"""Help after a disappointing search: why, with numbers, and what can be done at once."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from adk_prism.grounding import Remedies, RemedyAction, SearchFailure

from ..databases.query import Query
from ..failures import Action, Failure
from ..failures.remedies import MOST_OFFERED
from ..planning.filters import filters_of

_REASONS: dict[str, str] = {
    "empty_results": "Nothing in {database} answers `{query}`.",
    "too_few_results": "Only {results_count} found in {database}; {expected_count} or more were expected.",
    "database_coverage_gap": (
        "Only {results_count} found in {database}; {expected_count} or more were expected. "
        "The reason is this database, not the question."
    ),
    "ambiguous_terminology": "`{query}` means several things here; the papers speak of all of them.",
    "query_too_broad": "{results_count} papers are too many to read.",
    "access_restricted": "Nearly all of the papers are closed.",
    "inconsistent_results": "{database} contradicts an earlier answer, or itself.",
    "network_error": "{database} could not be reached.",
    "timeout": "{database} did not answer in time.",
    "rate_limited": "{database} wants to be asked less often.",
    "auth_failed": "{database} wants a key.",
    "malformed_query": "The query cannot be asked as it is.",
    "service_error": "{database} answered with an error, or with what cannot be read.",
}
_TOLD = frozenset({"database", "query", "filters", "results_count", "expected_count", "detail"})


ANYWAY = "search_anyway"
"""Name of the remedy that makes a search which is known to find nothing, so that it is on record."""


def as_state(failure: Failure, labels: dict[str, str]) -> SearchFailure:
    """Return a failure as the box keeps it; `labels` are those of the databases, by key."""
    remedies = failure.remedies
    actions = list(remedies.actions)
    return SearchFailure(
        type=failure.type,
        context=dict(failure.context),
        remedies=Remedies(
            primary=remedies.primary.label if remedies.primary else "",
            fallback=remedies.fallback.label if remedies.fallback else "",
            ask_researcher=remedies.ask_researcher,
        ),
        actions=[_action(number, actions, labels) for number in range(len(actions))],
    )


def help_text(failure: SearchFailure) -> str:
    """Return the help as it is shown: the reason, the evidence, and what to choose from."""
    reason = _REASONS[failure.type].format_map(_Known(failure.context))
    detail = failure.context.get("detail")
    evidence = [
        f"{name.replace('_', ' ')}: {_plain(value)}"
        for name, value in failure.context.items()
        if name not in _TOLD and value not in (None, "", [], {})
    ]
    lines = [
        f"**SEARCH HELP** ({failure.type})",
        "",
        f"{reason}{f' {detail}' if detail else ''}",
        "",
        f"What was counted: {'; '.join(evidence)}." if evidence else "",
        "",
        *(
            f"{number}. [{_title(each.name)}] {each.label}"
            for number, each in enumerate(failure.actions, 1)
        ),
        "",
        failure.remedies.ask_researcher,
    ]
    return "\n".join(line for index, line in enumerate(lines) if line or lines[index - 1])


def with_search_anyway(failure: SearchFailure, query: Query, database: str) -> SearchFailure:
    """Return the help for a search that was not made, with the offer to make it for the record."""
    anyway = RemedyAction(
        name=ANYWAY,
        label="Search all the same (0 papers), so that the empty result is on record",
        database=database,
        query=query.text,
        filters=filters_of(query),
        limit=query.limit,
        expected=0,
    )
    return structs.replace(failure, actions=[*failure.actions[: MOST_OFFERED - 1], anyway])


def nothing_to_approve(failure: SearchFailure, rationale: str) -> str:
    """Return the help in place of a plan: counting told, for free, that the search finds nothing."""
    counted = (
        "This was counted before searching, so there is no plan to approve; nothing was searched."
    )
    return f"{help_text(failure)}\n\n{counted} {rationale}"


def not_offered(name: str, offered: list[RemedyAction]) -> str:
    """Say that a remedy is not on offer, and which are."""
    if not offered:
        return f"There is no remedy {name[:60]!r}: none is offered at the moment."
    known = "; ".join(f"{n}. {each.name}: {each.label}" for n, each in enumerate(offered, 1))
    return f"There is no remedy {name[:60]!r} on offer. There are: {known}."


def _action(number: int, actions: list[Action], labels: dict[str, str]) -> RemedyAction:
    action = actions[number]
    again = sum(1 for each in actions[:number] if each.kind == action.kind)
    return RemedyAction(
        name=f"{action.kind}_{again + 1}" if again else action.kind,
        label=action.label,
        database=labels.get(action.database, action.database),
        query=action.query.text,
        filters=filters_of(action.query),
        limit=action.query.limit,
        expected=action.count,
    )


class _Known(dict[str, Any]):
    """A context in which a number that is not there reads as such."""

    def __missing__(self, name: str) -> str:
        return f"an unknown {name.replace('_', ' ')}"


def _title(name: str) -> str:
    return name.replace("_", " ").title()


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
