"""The open questions that searches leave behind: what was not found, not reached, or only in part.

The agent's own questions go when a search has answered them; what the researcher wrote stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adk_prism.grounding import SearchFailure, SearchReceipt

from ..databases.query import Query
from ..planning.filters import with_filters
from ..session_state import SessionState, write

OPEN = "research:open_questions"
"""State key of the questions that the agent wrote, each with the search that left it open."""
MOST_OPEN = 12
"""Questions of the agent's own in the box; the oldest make room."""
_LONGEST_SPAN = 30
"""Years of a filter that are looked through for gaps; a longer span has gaps by nature."""
_MOST_YEARS = 6

_UNREACHED = frozenset(
    "network_error timeout rate_limited auth_failed malformed_query service_error".split()
)
_TEXTS: dict[str, str] = {
    "empty_results": "Is there anything on `{query}`{filters}? {database} has nothing.",
    "too_few_results": "Is there more on `{query}`{filters} than the {count} found in {database}?",
    "database_coverage_gap": "Where else is `{query}`{filters} covered? {database} has {count}.",
    "ambiguous_terminology": "Which meaning of `{query}` is meant? {database} has papers on several.",
    "query_too_broad": "Which part of `{query}` matters? {database} has {count}.",
    "access_restricted": "Can the papers on `{query}` be read? Nearly all in {database} are closed.",
    "inconsistent_results": "Which count for `{query}` is right? {database} contradicts itself.",
}
_NOT_REACHED = "What does {database} have on `{query}`{filters}? It could not be searched ({type})."
_NOT_ASKED = "What does {database} have on `{query}`? It is not asked from here."
_NO_YEARS = "Is there nothing of {years} on `{query}`? {database} has no paper from that time."


@dataclass(frozen=True, slots=True)
class Left:
    """A question, and the search that left it; `where` is empty if any database can answer it."""

    text: str
    query: str
    where: str = ""

    @property
    def value(self) -> dict[str, str]:
        """Return it as the state keeps it."""
        return {"text": self.text, "query": self.query, "where": self.where}


def after_search(
    state: Any, receipt: SearchReceipt, failure: SearchFailure | None, now: datetime
) -> None:
    """Write the questions that a search left, and take away those that it answered."""
    kept = _kept(state)
    if failure is None:
        kept = [
            e for e in kept if not (e.query == receipt.query and e.where in ("", receipt.database))
        ]
    found = [_of_failure(receipt, failure)] if failure is not None else _of_years(receipt, now)
    _put(state, [*kept, *found])


def not_asked(state: Any, database: str, query: str) -> None:
    """Write that a database that was asked for cannot be asked."""
    text = _NOT_ASKED.format(database=database, query=query)
    _put(state, [*_kept(state), Left(text, query, database)])


def not_there(state: Any, database: str, query: str) -> None:
    """Write that a database has nothing on a query, as counting told."""
    text = _TEXTS["empty_results"].format(query=query, filters="", database=database)
    _put(state, [*_kept(state), Left(text, query)])


def _of_failure(receipt: SearchReceipt, failure: SearchFailure) -> Left:
    unreached = failure.type in _UNREACHED
    count = failure.context.get("results_count", receipt.results_count)
    text = (_NOT_REACHED if unreached else _TEXTS[failure.type]).format(
        query=receipt.query,
        filters=f" ({', '.join(receipt.filters_applied)})" if receipt.filters_applied else "",
        database=receipt.database,
        count=f"{count} paper{'' if count == 1 else 's'}",
        type=failure.type,
    )
    return Left(text, receipt.query, receipt.database if unreached else "")


def _of_years(receipt: SearchReceipt, now: datetime) -> list[Left]:
    """Return the question for years that were asked for and have no paper; a cut list has no gaps."""
    query, _ = with_filters(Query(receipt.query), receipt.filters)
    cut = receipt.preview or (receipt.total or 0) > receipt.results_count
    last = min(query.until or now.year, now.year)
    if query.since is None or cut or last - query.since > _LONGEST_SPAN:
        return []
    missing = [str(y) for y in range(query.since, last + 1) if not receipt.by_year.get(str(y))]
    if not missing:
        return []
    more = f" and {len(missing) - _MOST_YEARS} more years" if len(missing) > _MOST_YEARS else ""
    years = ", ".join(missing[:_MOST_YEARS]) + more
    text = _NO_YEARS.format(years=years, query=receipt.query, database=receipt.database)
    return [Left(text, receipt.query)]


def _kept(state: Any) -> list[Left]:
    """Return the agent's questions that are still in the box: the researcher may have removed some."""
    shown = set(SessionState(state.to_dict()).box.open_questions)
    return [Left(**each) for each in state.get(OPEN) or () if each["text"] in shown]


def _put(state: Any, questions: Sequence[Left]) -> None:
    before = {each["text"] for each in state.get(OPEN) or ()}
    latest = list({each.text: each for each in questions}.values())[-MOST_OPEN:]
    shown = SessionState(state.to_dict()).box.open_questions
    own = [text for text in shown if text not in before]
    listed = [*own, *(each.text for each in latest)]
    if listed != shown:
        write(state, {"open_questions": listed})
    if latest or before:
        state[OPEN] = [each.value for each in latest]
