"""The tools of the research agent: propose a search, run it, choose a remedy, synthesise, export.

A tool decides and writes the grounding box; the `text` of its answer is for any model to show.
Only the search tools send requests to services, and only with an approval (`approvals.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types
from msgspec import structs

from adk_prism.grounding import NextAction, RemedyAction, SearchPlan, value_of
from adk_prism.proof import Citation, proof

from .approvals import RefusedSearch, check_approval, is_approved
from .databases.clock import Clock as Timer
from .databases.database import AnyDatabase
from .databases.query import Query, repaired
from .databases.registry import NAMES
from .directive import INTENT
from .next_actions import approve, export, next_action, refine, validate
from .planning.arguments import as_query, called_query
from .planning.available_databases import AvailableDatabases
from .planning.filters import with_filters
from .planning.planner import FULL_RUN, Planned, Planner, PlanRequest, Unplannable
from .search_runner import Clock, SearchRunner, call_of
from .session_state import SessionState, keep_basis, keep_remedies, write
from .writing.help import ANYWAY, not_offered, nothing_to_approve
from .writing.plans import plan_text
from .writing.questions import not_asked, not_there
from .writing.strategy import prisma, strategy
from .writing.synthesis import synthesis
from .writing.validation import check_counts, validation_text

STRATEGY_FILE = "search-strategy.md"
COUNTS_FILE = "prisma-counts.json"


class Toolbox:
    """All tools, over one set of databases."""

    def __init__(
        self,
        databases: Mapping[str, AnyDatabase],
        available: AvailableDatabases,
        clock: Clock,
        timer: Timer,
    ) -> None:
        self._databases = databases
        self._available = available
        self._clock = clock
        self._planner = Planner(available, NAMES, clock)
        self._runner = SearchRunner(available, self._planner, databases, clock, timer)

    def tools(self) -> list[BaseTool]:
        """Return every tool; each database has one of its own."""
        plain = (
            self.propose_search,
            self.choose_remedy,
            self.synthesize_findings,
            self.validate_findings,
            self.export_search_strategy,
        )
        searches = [self._search_tool(each) for each in self._databases.values()]
        return [*(FunctionTool(each) for each in plain), *searches]

    # ------------------------------------------------------------------ planning

    def propose_search(
        self,
        question: str,
        tool_context: ToolContext,
        query: str = "",
        database: str = "",
        since: int = 0,
        until: int = 0,
        fields: list[str] | None = None,
        kinds: list[str] | None = None,
        limit: int = FULL_RUN,
    ) -> dict[str, Any]:
        """Plan a search for a question and put the plan before the researcher.

        Nothing is searched. Leave `query` empty to have it made from the question, and `database`
        to have one chosen; a database is named by its key or label.
        """
        named = self._available.labelled(database) if database else None
        request = PlanRequest(
            question=question,
            text=repaired(query),
            database=named.key if named else "",
            filters=as_query("", since, until, fields, kinds, limit),
            limit=limit,
        )
        return self._propose(request, tool_context)

    def choose_remedy(
        self, name: str, tool_context: ToolContext, context: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Plan the remedy of that name, one of those that the last failure offers."""
        session = SessionState(tool_context.state.to_dict())
        failure = session.failure
        offered = {each.name: each for each in failure.actions} if failure else {}
        action = offered.get(name)
        if action is None:
            step = value_of(next_action(session.situation))
            write(tool_context.state, {"selected_remedy": None, "next_action": step})
            return {"status": "refused", "text": not_offered(name, list(offered.values()))}
        write(tool_context.state, {"selected_remedy": None, "remedy_context": None})
        return self._propose(self._remedy(session, action, context or {}), tool_context)

    def _remedy(
        self, session: SessionState, action: RemedyAction, context: Mapping[str, Any]
    ) -> PlanRequest:
        """Return the remedy as a plan request; the panel's context may name another query or database."""
        text, label = context.get("query"), context.get("database")
        is_as_offered = not context.keys() & {"query", "database", "filters"}
        named = self._available.labelled(label if isinstance(label, str) else action.database)
        extra = context.get("filters")
        filters = action.filters | (extra if isinstance(extra, dict) else {})
        query, _ = with_filters(Query(""), filters)
        return PlanRequest(
            question=session.box.research_question,
            text=repaired(text) if isinstance(text, str) and repaired(text) else action.query,
            database=named.key if named else "",
            filters=query,
            limit=action.limit or FULL_RUN,
            why=f"{action.label}.",
            counted=action.expected if is_as_offered else None,
            even_if_empty=action.name == ANYWAY,
        )

    def _propose(self, request: PlanRequest, context: ToolContext) -> dict[str, Any]:
        session = SessionState(context.state.to_dict())
        intent = context.state.get(INTENT)
        if isinstance(intent, dict) and intent.get("edited"):
            request = replace(request, why=_edited_text(intent["edited"]))
        try:
            planned = self._planner.plan(request, session.box)
        except Unplannable as problem:
            write(
                context.state,
                {"next_action": value_of(_to_provide(session)), "user_approval": None},
            )
            text = f"This cannot be searched for. {problem} Say what the papers should be about."
            return {"status": "refused", "text": text}
        wanted = self._planner.wanted(request, session.box)
        if wanted and not self._available.is_enabled(wanted):
            not_asked(context.state, self._databases[wanted].label, planned.plan.query)
        if planned.finds_nothing and not request.even_if_empty:
            return self._refuse_empty(planned, context)
        plan = planned.plan
        put_plan(context.state, session, planned)
        return {
            "status": "proposed",
            "plan": value_of(plan),
            "call": call_of(plan),
            "text": plan_text(plan),
        }

    def _propose_edited(self, session: SessionState, context: ToolContext) -> dict[str, Any]:
        """Plan anew instead of running a plan that was confirmed after it was edited in the panel."""
        plan, box = session.box.pending_search_plan, session.box
        assert plan is not None, "only a pending plan is edited"
        query, _ = with_filters(Query("", limit=plan.limit or FULL_RUN), box.current_filters)
        text = plan.query if session.edited == ("filters",) else ""
        why, limit = _edited_text(session.edited), plan.limit or FULL_RUN
        return self._propose(
            PlanRequest(box.research_question, text, "", query, limit, why), context
        )

    def _refuse_empty(self, planned: Planned, context: ToolContext) -> dict[str, Any]:
        """Offer remedies at once for a search that was counted to find nothing; it is not made."""
        failure = self._runner.judge_empty(planned.database, planned.query)
        keep_remedies(context.state, None)
        write(
            context.state,
            {
                "pending_search_plan": None,
                "current_filters": planned.plan.filters,
                "last_search_failure": value_of(failure),
                "next_action": value_of(refine(failure)),
                "user_approval": None,
                "preview_mode": False,
            },
        )
        not_there(context.state, planned.database.label, planned.plan.query)
        text = nothing_to_approve(failure, planned.plan.rationale)
        return {"status": "nothing_to_find", "failure": value_of(failure), "text": text}

    def repaired(self, plan: SearchPlan) -> SearchPlan | None:
        """Return a plan that a panel may have written, as one that can run; None if none can."""
        database = self._available.labelled(plan.tool) or self._available.labelled(plan.database)
        if database is None or not repaired(plan.query):
            return None
        return structs.replace(plan, tool=database.tool, limit=plan.limit or FULL_RUN)

    # ------------------------------------------------------------------ searching

    def _search_tool(self, database: AnyDatabase) -> FunctionTool:
        async def run(
            query: str,
            tool_context: ToolContext,
            since: int = 0,
            until: int = 0,
            fields: list[str] | None = None,
            kinds: list[str] | None = None,
            limit: int = FULL_RUN,
        ) -> dict[str, Any]:
            asked = as_query(query, since, until, fields, kinds, limit)
            session = SessionState(tool_context.state.to_dict())
            if tool_context.tool_confirmation is not None and session.edited:
                return self._propose_edited(session, tool_context)
            given = check_approval(
                session,
                database.tool,
                asked,
                tool_context.tool_confirmation,
            )
            if isinstance(given, RefusedSearch):
                return {"error": given.why}
            return await self._runner.run(tool_context.state, database, asked, given)

        def asks(tool_context: ToolContext, **arguments: Any) -> bool:
            query = called_query(arguments)
            return not is_approved(SessionState(tool_context.state.to_dict()), database.tool, query)

        run.__name__ = database.tool
        run.__doc__ = (
            f"Search {database.label}: {database.profile.about}. Years are 0 for any. "
            "It asks the researcher first, unless the pending plan is this search and was approved."
        )
        return FunctionTool(run, require_confirmation=asks)

    def prepare_search(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext
    ) -> dict[str, Any] | None:
        """Refuse a search in a database that is not enabled; else write its plan into the box."""
        database = next((e for e in self._databases.values() if e.tool == tool.name), None)
        if database is None or context.tool_confirmation is not None:
            return None
        if not self._available.is_enabled(database.key):
            return {"error": self._available.why_not(database)}
        session, query = SessionState(context.state.to_dict()), called_query(args)
        if is_approved(session, tool.name, query):
            return None
        request = PlanRequest(
            session.box.research_question, query.text, database.key, query, query.limit
        )
        try:
            planned = self._planner.plan(request, session.box)
        except Unplannable as problem:
            return {"error": str(problem)}
        if session.box.pending_search_plan is None or call_of(
            session.box.pending_search_plan
        ) != call_of(planned.plan):
            put_plan(context.state, session, planned)
        return None

    # ------------------------------------------------------------------ after searching

    def synthesize_findings(
        self, tool_context: ToolContext, sentences: list[str] | None = None
    ) -> dict[str, Any]:
        """Say what the papers found so far say together.

        Write the sentences yourself, each with the numbers of the papers it rests on, such as [2, 5];
        what cites no paper is marked so. Without sentences they are made of titles, venues and years.
        """
        session = SessionState(tool_context.state.to_dict())
        papers = session.papers()
        if not papers:
            write(tool_context.state, _step_after(session, next_action(session.situation)))
            return {
                "text": "Nothing has been found yet, so there is nothing to synthesise. Ask a question."
            }
        write(tool_context.state, {"stage": "synthesis"} | _step_after(session, validate()))
        citations = [
            Citation(str(p.get("venue") or "paper"), str(p["title"]), uri=str(p.get("url") or ""))
            for p in papers
        ]
        reasoning = [f"{each.delta} ({each.query})." for each in session.box.search_history]
        return {
            "text": synthesis(session.box.research_question, papers, sentences or ()),
            "papers": [f"[{n}] {p['title']}" for n, p in enumerate(papers, 1)],
            "proof_layer": proof(citations=citations, reasoning=reasoning),
        }

    def validate_findings(self, tool_context: ToolContext) -> dict[str, Any]:
        """Check that the counts in the grounding box add up with the receipts and the papers."""
        session = SessionState(tool_context.state.to_dict())
        papers = session.papers()
        after = export() if papers else next_action(session.situation)
        write(tool_context.state, {"stage": "validation"} | _step_after(session, after))
        checks = check_counts(session.box, papers)
        return {"valid": all(each.right for each in checks), "text": validation_text(checks)}

    async def export_search_strategy(self, tool_context: ToolContext) -> dict[str, Any]:
        """Write the search strategy as Markdown and its PRISMA-style counts, as two files."""
        session = SessionState(tool_context.state.to_dict())
        papers = session.papers()
        write(tool_context.state, _step_after(session, next_action(session.situation)))
        failed = session.failed_searches
        text = strategy(session.box, papers, failed, self._clock().isoformat(timespec="seconds"))
        counts = prisma(session.box, papers, failed)
        files = (
            (STRATEGY_FILE, "text/markdown", text),
            (COUNTS_FILE, "application/json", json.dumps(counts)),
        )
        saved: dict[str, int] = {}
        for name, kind, content in files:
            part = types.Part(inline_data=types.Blob(mime_type=kind, data=content.encode()))
            saved[name] = await tool_context.save_artifact(name, part)
        return {"files": saved, "counts": counts, "text": text}


def _edited_text(names: Sequence[str]) -> str:
    edits = " and ".join(f"the {name}" for name in names)
    was = "was" if list(names) == ["question"] else "were"
    return f"Changed, because {edits} {was} edited in the panel."


def _to_provide(session: SessionState) -> NextAction:
    """Return the step after words that no plan could be made of: an earlier plan still waits."""
    if session.box.pending_search_plan is not None:
        return next_action(session.situation)
    return NextAction(owner="researcher", action="provide_query", target="query", due="now")


def _step_after(session: SessionState, step: NextAction) -> dict[str, Any]:
    """Return the next step as the box keeps it; a plan that waits comes before any other."""
    waits = session.box.pending_search_plan is not None
    return {"next_action": value_of(next_action(session.situation) if waits else step)}


def put_plan(state: Any, session: SessionState, planned: Planned) -> None:
    """Put a plan before the researcher; an approval of another one does not count for it.

    The help of the last search makes room for it, and is back if the plan is cancelled.
    """
    plan = planned.plan
    keep_remedies(state, session.failure)
    keep_basis(state, planned.expected.range, plan.filters)
    write(
        state,
        {
            "pending_search_plan": value_of(plan),
            "current_filters": plan.filters,
            "next_action": value_of(approve(plan)),
            "last_search_failure": None,
            "user_approval": None,
            "preview_mode": False,
        },
    )
