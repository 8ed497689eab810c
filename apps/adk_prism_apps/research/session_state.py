"""The session's state as the app uses it: the grounding box, and the papers that were found.

The box is that of the grounding contract. The papers are under keys of the app's own, one for each search
with what that search added, so that a long session writes each paper once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.sessions.state import State
from msgspec import ValidationError, convert, structs

from adk_prism.grounding import (
    GroundingBox,
    PanelAnswers,
    SearchFailure,
    SearchReceipt,
    key,
    read,
    value_of,
)

from .databases.paper import Paper, identity

OFFERED = "research:offered"
"""State key of the last search's failure while a plan is pending: its remedies can still be chosen."""
BASIS = "research:planned_from"
"""State key of what the pending plan was made from, and of how many papers it expects."""
FAILED = "research:failed_searches"
"""State key of the searches that failed: they found out nothing, so they are not in the search history."""
MOST_FAILED = 50
"""Failed searches that are listed; the oldest make room."""
PAPERS = "research:papers:"
"""Prefix of the state keys of papers; the number of the receipt follows."""


class SessionState:
    """The grounding box, the panel's answers and the papers of one session."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state
        found = read(state)
        self.box: GroundingBox = found.box()
        self.answers: PanelAnswers = found.answers()
        self.unreadable = [each.key for each in found.unreadable]
        """Keys whose values are not what the contract says."""

    @property
    def failure(self) -> SearchFailure | None:
        """Return why the last search failed, also while a plan waits; None if it did not fail."""
        if self.box.last_search_failure is not None:
            return self.box.last_search_failure
        kept = self._state.get(OFFERED)
        try:
            return convert(kept, SearchFailure) if kept is not None else None
        except ValidationError:  # A client wrote it.
            return None

    @property
    def situation(self) -> GroundingBox:
        """Return the box with that failure."""
        return structs.replace(self.box, last_search_failure=self.failure)

    @property
    def edited(self) -> tuple[str, ...]:
        """Return what the panel has edited since the pending plan was made."""
        plan, basis = self.box.pending_search_plan, self._basis
        if plan is None or not basis:
            return ()
        now = {
            "question": (self.box.research_question, basis.get("question")),
            "filters": (self.box.current_filters, basis.get("filters")),
            "assumptions": (self.box.search_assumptions, basis.get("assumptions")),
        }
        return tuple(name for name, (current, planned) in now.items() if current != planned)

    @property
    def expected(self) -> tuple[int, int] | None:
        """Return how many papers the pending plan expects; None if that is not known."""
        numbers = self._basis.get("expected")
        return (numbers[0], numbers[1]) if self.box.pending_search_plan and numbers else None

    @property
    def failed_searches(self) -> list[dict[str, Any]]:
        """Return the searches that failed, each with its reason."""
        found = self._state.get(FAILED)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    @property
    def _basis(self) -> dict[str, Any]:
        basis = self._state.get(BASIS)
        return basis if isinstance(basis, dict) else {}

    def papers(self) -> list[dict[str, Any]]:
        """Return every paper once, in the order of the receipts."""
        count = len(self.box.search_history)
        lists = (self._state.get(f"{PAPERS}{number}") for number in range(1, count + 1))
        return [paper for found in lists if isinstance(found, list) for paper in found]

    def known(self) -> set[str]:
        """Return the keys that the papers found so far are known by."""
        return {each for paper in self.papers() for each in paper.get("keys", ())}

    def new_papers(self, papers: Sequence[Paper]) -> list[Paper]:
        """Return the papers that no search has found before."""
        known = self.known()
        return [paper for paper in papers if known.isdisjoint(identity(paper))]


def write(state: State, values: Mapping[str, Any]) -> None:
    """Write some fields of the box; a field that was never set is not cleared."""
    for name, value in values.items():
        full = key(name)
        if value is not None or state.get(full) is not None:
            state[full] = value


def keep_remedies(state: State, failure: SearchFailure | None) -> None:
    """Store a failure beside the box, so that its remedies can still be chosen; None clears it."""
    if failure is not None or state.get(OFFERED) is not None:
        state[OFFERED] = value_of(failure) if failure is not None else None


def keep_basis(state: State, expected: tuple[int, int] | None, filters: dict[str, Any]) -> None:
    """Store what the pending plan was made from, so that later edits in the panel are noticed."""
    box = SessionState(state.to_dict()).box
    state[BASIS] = {
        "question": box.research_question,
        "filters": filters,
        "assumptions": box.search_assumptions,
        "expected": list(expected) if expected else None,
    }


def record_failed(state: State, receipt: SearchReceipt, reason: str, detail: str) -> None:
    """Add a search that failed to the list of those."""
    failed = {
        "timestamp": receipt.timestamp,
        "database": receipt.database,
        "query": receipt.query,
        "filters": receipt.filters,
        "reason": reason,
        "detail": detail,
    }
    state[FAILED] = [*SessionState(state.to_dict()).failed_searches, failed][-MOST_FAILED:]


def record(
    state: State, session: SessionState, receipt: SearchReceipt, new_papers: Sequence[Paper]
) -> None:
    """Add a receipt with its new papers, and set what follows from it: counts and databases."""
    number = len(session.box.search_history) + 1
    state[f"{PAPERS}{number}"] = [kept(paper) for paper in new_papers]
    databases = list(dict.fromkeys([*session.box.databases_searched, receipt.database]))
    write(
        state,
        {
            "search_history": [*map(value_of, session.box.search_history), value_of(receipt)],
            "papers_found": session.box.papers_found + len(new_papers),
            "databases_searched": databases,
        },
    )


def shown(paper: Paper) -> dict[str, Any]:
    """Return a paper as an answer shows it; what is not known is left out, the count of citations too."""
    about = {
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "kind": paper.kind,
        "citations": paper.citations,
        "doi": paper.doi,
        "arxiv": paper.arxiv,
        "url": paper.url,
    }
    return {name: value for name, value in about.items() if value not in (None, "", [])}


def kept(paper: Paper) -> dict[str, Any]:
    """Return a paper as the state keeps it: as shown, with the keys that it is known by."""
    return shown(paper) | {"keys": list(identity(paper))}
