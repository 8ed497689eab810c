"""A search that may run: asked, counted, judged, and written into the box as a receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx
from google.adk.sessions.state import State

from adk_prism.apps.research.databases.clock import Clock as Timer
from adk_prism.apps.research.databases.database import AnyDatabase
from adk_prism.apps.research.databases.limiter import Limiter
from adk_prism.apps.research.databases.outcome import Outcome
from adk_prism.apps.research.databases.query import Query, filters_of
from adk_prism.apps.research.databases.search import search
from adk_prism.apps.research.desk import Desk, record, shown, write
from adk_prism.apps.research.failures import cautions, classify
from adk_prism.apps.research.gate import Grant
from adk_prism.apps.research.planning import filters as panel
from adk_prism.apps.research.planning.planner import Planner
from adk_prism.apps.research.planning.reach import Reach
from adk_prism.apps.research.writing.help import as_state, help_text
from adk_prism.apps.research.writing.receipts import breakdown, receipt_text
from adk_prism.grounding import NextAction, SearchFailure, SearchPlan, SearchReceipt, value_of

Clock = Callable[[], datetime]
"""Tells the time of day, with its zone."""


class Searching:
    """Runs searches; one limiter for all of them, as each service asks of all its callers."""

    def __init__(
        self,
        reach: Reach,
        planner: Planner,
        databases: Mapping[str, AnyDatabase],
        clock: Clock,
        timer: Timer,
    ) -> None:
        self._reach = reach
        self._planner = planner
        self._databases = databases
        self._clock = clock
        self._timer = timer
        self._limiter = Limiter(timer)

    async def run(
        self, state: State, database: AnyDatabase, query: Query, given: Grant
    ) -> dict[str, Any]:
        """Search, write the receipt and what follows from it; return the answer of the tool."""
        began = self._clock()
        asked = replace(query, limit=given.limit)
        async with _client(database) as client:
            outcome = await search(
                database, asked, client=client, limiter=self._limiter, clock=self._timer
            )
        desk = Desk(state.to_dict())
        failure = self._judge(desk, outcome, asked, database)
        open_plan = self._still_open(desk, outcome, given, failure)
        news = desk.news(outcome.papers)
        step = self._next(database, failure, open_plan, desk.box.papers_found + len(news))
        kinds, years = breakdown(outcome.papers)
        receipt = SearchReceipt(
            timestamp=began.isoformat(timespec="seconds"),
            database=database.label,
            query=asked.text,
            results_count=len(outcome.papers),
            filters_applied=list(filters_of(asked)),
            filters=panel.filters_of(asked),
            delta=f"Found {len(outcome.papers)} papers in {database.label}, {len(news)} of them new",
            next=_said(step),
            duration_ms=outcome.duration_ms,
            warnings=[*outcome.warnings, *(each.text for each in cautions(outcome, desk.known()))],
            mode=outcome.mode,
            preview=given.short,
            total=outcome.total,
            new_count=len(news),
            by_kind=kinds,
            by_year=years,
            expected=self._planner.expect(database, asked, desk.box.search_history).text,
            approval=f"{given.approval} by {given.by}",
            requests=outcome.requests,
            request=outcome.curl,
        )
        record(state, desk, receipt, news)
        write(
            state,
            {
                "stage": "retrieval",
                "current_filters": receipt.filters,
                "next_action": value_of(step),
                "pending_search_plan": value_of(open_plan) if open_plan else None,
                "last_search_failure": value_of(failure) if failure else None,
                "user_approval": None,
                "preview_mode": given.short,
            },
        )
        return self._answer(Desk(state.to_dict()), outcome, receipt, failure, open_plan)

    def _judge(
        self, desk: Desk, outcome: Outcome, asked: Query, database: AnyDatabase
    ) -> SearchFailure | None:
        history = desk.box.search_history
        failure = classify(
            outcome,
            asked,
            database,
            databases={each.key: each for each in self._reach.enabled()},
            expected=self._planner.expect(database, asked, history).range,
            history=self._planner.past(history),
        )
        labels = {key: each.label for key, each in self._databases.items()}
        return as_state(failure, labels) if failure is not None else None

    def _still_open(
        self,
        desk: Desk,
        outcome: Outcome,
        given: Grant,
        failure: SearchFailure | None,
    ) -> SearchPlan | None:
        """Return the plan of the whole search, to be approved after a short run that left some over."""
        plan = desk.box.pending_search_plan
        if not given.short or not outcome.truncated or failure is not None or plan is None:
            return None
        total = outcome.total
        known = f"{total} papers (counted by the short run)" if total else "more than these"
        # The rest of the plan stays: it is the same search.
        return SearchPlan(**{**_fields(plan), "expected_results": known})

    def _next(
        self,
        database: AnyDatabase,
        failure: SearchFailure | None,
        open_plan: SearchPlan | None,
        found: int,
    ) -> NextAction:
        if failure is not None:
            return NextAction(owner="researcher", action="refine", target=database.label, due="now")
        if open_plan is not None:
            return NextAction(
                owner="researcher", action="approve_search", target=database.label, due="now"
            )
        for other in self._reach.enabled():
            if other.mode == "online" and other.key != database.key:
                return NextAction(owner="both", action="search", target=other.label)
        return NextAction(owner="both", action="synthesize", target=f"{found} papers")

    def _answer(
        self,
        desk: Desk,
        outcome: Outcome,
        receipt: SearchReceipt,
        failure: SearchFailure | None,
        open_plan: SearchPlan | None,
    ) -> dict[str, Any]:
        papers = [shown(paper) for paper in outcome.papers]
        text = receipt_text(receipt, papers, desk.box.papers_found)
        answer: dict[str, Any] = {
            "count": len(papers),
            "total": outcome.total,
            "papers": papers,
            "database": receipt.database,
            "mode": receipt.mode,
            "preview": receipt.preview,
            "new_count": receipt.new_count,
            "warnings": receipt.warnings,
        }
        if failure is not None:
            answer["failure"] = value_of(failure)
            text += "\n\n" + help_text(failure)
        if open_plan is not None:
            answer["call"] = call_of(open_plan)
            text += f"\n\nProceed with full search? {open_plan.expected_results}."
        return answer | {"text": text}


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


def _fields(plan: SearchPlan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in plan.__struct_fields__}


_STEPS = {
    "refine": "Choose a remedy, or say what to change",
    "approve_search": "Approve the full search in {target}",
    "search": "Search {target}",
    "synthesize": "Synthesise {target}, refine the question, or export the strategy",
}


def _said(step: NextAction) -> str:
    return _STEPS[step.action].format(target=step.target)
