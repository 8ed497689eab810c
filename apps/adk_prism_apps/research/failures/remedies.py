"""Which remedies belong to which failure: a table of proposals, tried in order.

Each proposal yields searches that can be run as they are. Where counting is free, a search that would
find nothing (or no more than now) is not proposed. The first is the primary remedy, the next one of
another kind the fallback; a few more follow. No failure is left without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from ..databases.query import lint
from .case import Case
from .evidence import Numbers
from .failure import Action, FailureType, Remedies
from .proposals import (
    elsewhere,
    halved,
    narrowed,
    offline,
    one_meaning,
    open_elsewhere,
    plain_words,
    relaxed_years,
    repaired_query,
    respelt,
    retry,
    short_run,
    synonyms,
    without_concept,
    without_filter,
)
from .subqueries import parts, subjects

Proposal = Callable[[Case, Numbers], Iterator[Action]]

_PROPOSALS: Mapping[FailureType, tuple[Proposal, ...]] = {
    "network_error": (offline, retry, elsewhere, parts),
    "timeout": (halved, elsewhere, offline, parts),
    "rate_limited": (retry, elsewhere, offline, parts),
    "auth_failed": (elsewhere, offline, parts),
    "malformed_query": (repaired_query, plain_words, elsewhere, offline, parts),
    "service_error": (retry, elsewhere, offline, parts),
    "empty_results": (
        without_filter,
        respelt,
        synonyms,
        without_concept,
        elsewhere,
        offline,
        parts,
    ),
    "database_coverage_gap": (synonyms, elsewhere, without_concept, relaxed_years),
    "ambiguous_terminology": (one_meaning, narrowed),
    "too_few_results": (
        synonyms,
        respelt,
        relaxed_years,
        without_filter,
        without_concept,
        elsewhere,
        parts,
    ),
    "query_too_broad": (narrowed, short_run),
    "access_restricted": (open_elsewhere, elsewhere),
    "inconsistent_results": (retry, elsewhere),
}
MOST_OFFERED = 4
"""Searches to choose from: more are a list to read, not help."""
_MOST_LOOKED_AT = 24
# Where nothing was found, or nobody answered, the researcher may want to try several things.
_WITH_MORE = frozenset(
    {
        "network_error",
        "timeout",
        "rate_limited",
        "auth_failed",
        "malformed_query",
        "service_error",
        "empty_results",
        "too_few_results",
    }
)
# Remedies that change what was found have to find something else than now.
_MUST_HELP = frozenset({"empty_results", "database_coverage_gap", "too_few_results"})
_QUESTIONS: Mapping[FailureType, str] = {
    "network_error": "{database} could not be reached. Continue with the sample library?",
    "timeout": "{database} is slow. Wait longer, or go on elsewhere?",
    "rate_limited": "{database} asks for a pause. Wait, or search elsewhere?{key}",
    "auth_failed": "{database} refused the request. Can you supply a key?{key}",
    "malformed_query": "The query could not be understood. Which part of it matters most?",
    "service_error": "{database} has a fault of its own. Try again, or go on elsewhere?",
    "empty_results": "Broaden the search, or is nothing the answer?",
    "database_coverage_gap": "Coverage seems thin in: {database}. Which approach would you prefer?",
    "ambiguous_terminology": 'Which meaning of "{term}" do you mean?',
    "too_few_results": "{count} papers against {low} to {high} expected: is that acceptable?",
    "query_too_broad": "{count} papers are more than can be read. Narrow by what?",
    "access_restricted": "Most of these papers are closed. Do you have access, or are preprints enough?",
    "inconsistent_results": "The same search gave another answer before. Which one shall count?",
}


def remedies_for(name: FailureType, case: Case, numbers: Numbers) -> Remedies:
    """Return the remedies of a failure; those that nothing could be found for are None."""
    offered = list(islice(_actions(name, case, numbers), _MOST_LOOKED_AT))
    offered = offered or list(subjects(case, numbers))
    primary = offered[0] if offered else None
    others = offered[1:]
    another = [e for e in others if primary is not None and e.kind != primary.kind]
    fallback = next(iter(others if name == "ambiguous_terminology" else another), None)
    left = [each for each in others if each is not fallback]
    more = tuple(left[: MOST_OFFERED - 2]) if name in _WITH_MORE else ()
    return Remedies(primary, fallback, _question(name, case, numbers), more)


def _actions(name: FailureType, case: Case, numbers: Numbers) -> Iterator[Action]:
    tried = {(case.database.key, case.query)}
    for proposal in _PROPOSALS[name]:
        for action in proposal(case, numbers):
            same = (action.database, action.query) in tried and action.kind != "retry"
            useless = name in _MUST_HELP and action.count is not None and action.count <= case.count
            useless = useless or action.count == 0
            if not (same or useless or lint(action.query)):
                tried.add((action.database, action.query))
                yield action


def _question(name: FailureType, case: Case, numbers: Numbers) -> str:
    low, high = case.expected or (0, 0)
    variable = numbers.get("key_variable", "")
    return _QUESTIONS[name].format(
        database=case.database.label,
        count=case.count,
        low=low,
        high=high,
        term=numbers.get("term", ""),
        key=f" It is read from the environment variable {variable}." if variable else "",
    )
