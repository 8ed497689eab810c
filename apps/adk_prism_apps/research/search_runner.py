"""Runs an approved search: sends it, counts and judges the results, writes the receipt into the box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import httpx
from google.adk.sessions.state import State
from msgspec import convert, structs

from adk_prism.grounding import NextAction, SearchFailure, SearchPlan, SearchReceipt, value_of

from .approvals import ApprovedSearch
from .databases.clock import Clock as Timer
from .databases.database import AnyDatabase
from .databases.limiter import Limiter
from .databases.outcome import Outcome
from .databases.paper import Paper
from .databases.query import Query, filters_of
from .databases.search import search
from .failures import classify, search_warnings
from .planning import filters as panel
from .planning.available_databases import AvailableDatabases
from .planning.planner import Planner
from .session_state import SessionState, keep_remedies, record, record_failed, shown, write
from .writing.help import as_state, help_text, with_search_anyway
from .writing.questions import after_search
from .writing.receipts import breakdown, counted, failed_text, incomplete, receipt_text

Clock = Callable[[], datetime]
"""Tells the time of day, with its zone."""


class SearchRunner:
    """Runs searches; one limiter for all of them, as each service asks of all its callers."""

    def __init__(
        self,
        available: AvailableDatabases,
        planner: Planner,
        databases: Mapping[str, AnyDatabase],
        clock: Clock,
        timer: Timer,
    ) -> None:
        self._available = available
        self._planner = planner
        self._databases = databases
        self._clock = clock
        self._timer = timer
        self._limiter = Limiter(timer)

    async def run(
        self, state: State, database: AnyDatabase, query: Query, given: ApprovedSearch
    ) -> dict[str, Any]:
        """Search, write the receipt and what follows from it; return the answer of the tool."""
        # Used up now: the same call a second time, while the first one runs, has to ask.
        write(state, {"user_approval": None})
        began = self._clock()
        asked = replace(query, limit=given.limit)
        async with _client(database) as client:
            outcome = await search(
                database, asked, client=client, limiter=self._limiter, clock=self._timer
            )
        made = self._finish(SessionState(state.to_dict()), began, database, asked, given, outcome)
        if made.has_failed and made.failure is not None:
            detail = str(made.failure.context.get("detail", ""))
            record_failed(state, made.receipt, made.failure.type, detail)
        else:
            record(state, made.session, made.receipt, made.new_papers)
        write(state, made.box)
        keep_remedies(state, made.failure if made.open_plan else None)
        after_search(state, made.receipt, made.failure, began)
        return made.answer(SessionState(state.to_dict()).box.papers_found)

    def _finish(
        self,
        session: SessionState,
        began: datetime,
        database: AnyDatabase,
        asked: Query,
        given: ApprovedSearch,
        outcome: Outcome,
    ) -> _FinishedSearch:
        history = session.box.search_history
        enabled = self._available.enabled()
        # What the plan promised is what the search is judged by.
        plan = session.box.pending_search_plan
        counted = self._planner.expect(database, asked, history)
        expected, text = counted.range, counted.text
        if session.expected is not None and plan is not None:
            expected, text = session.expected, plan.expected_results
        failure = classify(
            outcome,
            asked,
            database,
            databases={each.key: each for each in enabled},
            expected=expected,
            history=self._planner.past(history),
        )
        others = [e.label for e in enabled if e.mode == "online" and e.key != database.key]
        return _FinishedSearch(
            began=began,
            database=database,
            asked=asked,
            given=given,
            outcome=outcome,
            session=session,
            expected=text,
            failure=as_state(failure, self._labels()) if failure is not None else None,
            other=others[0] if others else "",
        )

    def judge_empty(self, database: AnyDatabase, query: Query) -> SearchFailure:
        """Return the help for a search that is known to find nothing, before it is made."""
        failure = classify(
            Outcome(total=0, mode=database.mode),
            query,
            database,
            databases={each.key: each for each in self._available.enabled()},
            history=(),
        )
        assert failure is not None, "a search without any result is a failure"
        return with_search_anyway(as_state(failure, self._labels()), query, database.label)

    def _labels(self) -> dict[str, str]:
        return {key: each.label for key, each in self._databases.items()}


@dataclass(frozen=True, kw_only=True)
class _FinishedSearch:
    """A search that was made, and everything that follows from it."""

    began: datetime
    database: AnyDatabase
    asked: Query
    given: ApprovedSearch
    outcome: Outcome
    session: SessionState
    """As it was before."""
    expected: str
    failure: SearchFailure | None
    other: str
    """Label of the service to ask next; empty if there is none."""

    @cached_property
    def new_papers(self) -> list[Paper]:
        """Return the papers that no search has found before."""
        return self.session.new_papers(self.outcome.papers)

    @property
    def has_failed(self) -> bool:
        """Whether the database gave no answer: then nothing was searched, and there is no receipt."""
        return self.outcome.error is not None and not self.outcome.papers

    @cached_property
    def open_plan(self) -> SearchPlan | None:
        """Return the plan of the whole search after a short run: to be approved, changed or cancelled.

        Only a short run that found all there is, and enough, leaves nothing to decide.
        """
        plan = self.session.box.pending_search_plan
        is_left_over = self.outcome.truncated or self.failure is not None
        if plan is None or not self.given.short or not is_left_over:
            return None
        if self.has_failed:
            return plan
        total = len(self.outcome.papers) if not self.outcome.truncated else self.outcome.total
        known = (
            f"{total} papers (counted by the short run)" if total is not None else "more than these"
        )
        return structs.replace(plan, expected_results=known)

    @cached_property
    def step(self) -> NextAction:
        """Return what is next, and whose turn it is."""
        if self.open_plan is not None:
            action, owner, target = "approve_search", "researcher", self.database.label
        elif self.failure is not None:
            action, owner, target = "refine", "researcher", self.database.label
        elif self.other:
            action, owner, target = "search", "both", self.other
        else:
            found = self.session.box.papers_found + len(self.new_papers)
            action, owner, target = "synthesize", "both", counted(found, "paper")
        due = "now" if owner == "researcher" else ""
        return convert({"owner": owner, "action": action, "target": target, "due": due}, NextAction)

    @cached_property
    def receipt(self) -> SearchReceipt:
        """Return the receipt."""
        outcome, label, count = self.outcome, self.database.label, len(self.outcome.papers)
        kinds, years = breakdown(outcome.papers)
        cautious = [each.text for each in search_warnings(outcome, self.session.known())]
        return SearchReceipt(
            timestamp=self.began.isoformat(timespec="seconds"),
            database=label,
            query=self.asked.text,
            results_count=count,
            filters_applied=list(filters_of(self.asked)),
            filters=panel.filters_of(self.asked),
            delta=f"Found {count} papers in {label}, {len(self.new_papers)} of them new",
            next=_STEPS[self.step.action].format(target=self.step.target),
            duration_ms=outcome.duration_ms,
            warnings=[*outcome.warnings, *cautious, *incomplete(outcome.papers)],
            mode=outcome.mode,
            preview=self.given.short,
            total=outcome.total,
            new_count=len(self.new_papers),
            by_kind=kinds,
            by_year=years,
            expected=self.expected,
            approval=self.given.by,
            requests=outcome.requests,
            request=outcome.curl,
        )

    @property
    def box(self) -> dict[str, Any]:
        """Return what is written into the box beside the receipt."""
        return {
            "stage": "retrieval",
            "current_filters": self.receipt.filters,
            "next_action": value_of(self.step),
            "pending_search_plan": value_of(self.open_plan) if self.open_plan else None,
            "last_search_failure": (
                value_of(self.failure) if self.failure and not self.open_plan else None
            ),
            "preview_mode": self.given.short,
        }

    def answer(self, found: int) -> dict[str, Any]:
        """Return the answer of the tool; `found` are all papers of the session."""
        papers = [shown(paper) for paper in self.outcome.papers]
        text = (
            failed_text(self.receipt)
            if self.has_failed
            else receipt_text(self.receipt, papers, found)
        )
        answer: dict[str, Any] = {
            "count": len(papers),
            "total": self.outcome.total,
            "papers": papers,
            "database": self.receipt.database,
            "mode": self.receipt.mode,
            "preview": self.receipt.preview,
            "new_count": self.receipt.new_count,
            "warnings": self.receipt.warnings,
        }
        if self.failure is not None:
            answer["failure"] = value_of(self.failure)
            text += "\n\n" + help_text(self.failure)
        if self.open_plan is not None:
            answer["call"] = call_of(self.open_plan)
            text += f"\n\n{self._next_question(self.open_plan)}"
        return answer | {"text": text}

    def _next_question(self, plan: SearchPlan) -> str:
        if self.failure is None:
            return f"Proceed with full search? {plan.expected_results}."
        if self.has_failed:
            return "The plan still waits: say **ok** to try again, change it, or choose a remedy."
        return (
            f"The plan still waits: {plan.expected_results}, so the full search finds no more. "
            "Change it, choose a remedy, say **ok** to put it on record, or **cancel**."
            if not self.outcome.truncated
            else f"The plan still waits. Proceed with full search? {plan.expected_results}."
        )


_STEPS = {
    "refine": "Choose a remedy, or say what to change",
    "approve_search": "Approve the full search in {target}",
    "search": "Search {target}",
    "synthesize": "Synthesise {target}, refine the question, or export the strategy",
}


class _NoNetwork(httpx.AsyncBaseTransport):
    """What a search on this machine reaches."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("A local search asks nobody.", request=request)


def _client(database: AnyDatabase) -> httpx.AsyncClient:
    """Return a client for one search; one that can reach a service takes its certificates along."""
    if database.mode == "online":
        return httpx.AsyncClient()
    return httpx.AsyncClient(transport=_NoNetwork(), trust_env=False)


def call_of(plan: SearchPlan) -> dict[str, Any]:
    """Return the call that runs a plan, as tool and arguments."""
    query, _ = panel.with_filters(Query(plan.query, limit=plan.limit), plan.filters)
    args: dict[str, Any] = {"query": query.text, "limit": query.limit}
    filters = {
        "since": query.since,
        "until": query.until,
        "fields": list(query.fields),
        "kinds": list(query.kinds),
    }
    args |= {name: value for name, value in filters.items() if value}
    return {"tool": plan.tool, "args": args}
