"""The tools of the research agent: propose a search, run it, choose a remedy, synthesise, export.

A tool decides and writes the box; what it says is in the `text` of its answer, for any model to show.
Only the search tools ask anybody anything, and only with an approval (`gate.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types
from msgspec import structs

from adk_prism.grounding import NextAction, RemedyAction, SearchPlan, value_of
from adk_prism.proof import Citation, proof

from .databases.clock import Clock as Timer
from .databases.database import AnyDatabase
from .databases.query import Query, mended
from .databases.registry import NAMES
from .desk import Desk, offer, write
from .gate import Refusal, grant, is_approved
from .planning.arguments import as_query, called_query
from .planning.filters import with_filters
from .planning.planner import FULL_RUN, Planner, Unplannable, Wish
from .planning.reach import Reach
from .searching import Clock, Searching, call_of
from .steps import approve, export, settled, validate
from .writing.help import not_offered
from .writing.plans import plan_text
from .writing.questions import not_asked
from .writing.strategy import prisma, strategy
from .writing.synthesis import synthesis
from .writing.validation import check_counts, validation_text

STRATEGY_FILE = "search-strategy.md"
COUNTS_FILE = "prisma-counts.json"


class Toolbox:
    """All tools, over one set of databases."""

    def __init__(
        self, databases: Mapping[str, AnyDatabase], reach: Reach, clock: Clock, timer: Timer
    ) -> None:
        self._databases = databases
        self._reach = reach
        self._clock = clock
        self._planner = Planner(reach, NAMES, clock)
        self._searching = Searching(reach, self._planner, databases, clock, timer)

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
        named = self._reach.labelled(database) if database else None
        wish = Wish(
            question=question,
            text=mended(query),
            database=named.key if named else "",
            filters=as_query("", since, until, fields, kinds, limit),
            limit=limit,
        )
        return self._propose(wish, tool_context)

    def choose_remedy(
        self, name: str, tool_context: ToolContext, context: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Plan the remedy of that name, one of those that the last failure offers."""
        desk = Desk(tool_context.state.to_dict())
        failure = desk.failure
        offered = {each.name: each for each in failure.actions} if failure else {}
        action = offered.get(name)
        if action is None:
            step = value_of(settled(desk.situation))
            write(tool_context.state, {"selected_remedy": None, "next_action": step})
            return {"status": "refused", "text": not_offered(name, list(offered.values()))}
        write(tool_context.state, {"selected_remedy": None, "remedy_context": None})
        return self._propose(self._remedy(desk, action, context or {}), tool_context)

    def _remedy(self, desk: Desk, action: RemedyAction, context: Mapping[str, Any]) -> Wish:
        """Return the remedy as a wish; the panel's context may say another query or database."""
        text, label = context.get("query"), context.get("database")
        named = self._reach.labelled(label if isinstance(label, str) else action.database)
        extra = context.get("filters")
        filters = action.filters | (extra if isinstance(extra, dict) else {})
        query, _ = with_filters(Query(""), filters)
        return Wish(
            question=desk.box.research_question,
            text=mended(text) if isinstance(text, str) and mended(text) else action.query,
            database=named.key if named else "",
            filters=query,
            limit=action.limit or FULL_RUN,
            why=f"{action.label}.",
        )

    def _propose(self, wish: Wish, context: ToolContext) -> dict[str, Any]:
        desk = Desk(context.state.to_dict())
        try:
            plan = self._planner.plan(wish, desk.box)
        except Unplannable as problem:
            write(
                context.state, {"next_action": value_of(_to_provide(desk)), "user_approval": None}
            )
            text = f"No search can be made of this. {problem} Say what the papers are to be about."
            return {"status": "refused", "text": text}
        put_plan(context.state, desk, plan)
        wanted = self._planner.wanted(wish, desk.box)
        if wanted and not self._reach.is_enabled(wanted):
            not_asked(context.state, self._databases[wanted].label, plan.query)
        return {
            "status": "proposed",
            "plan": value_of(plan),
            "call": call_of(plan),
            "text": plan_text(plan),
        }

    def mended(self, plan: SearchPlan) -> SearchPlan | None:
        """Return a plan that a panel may have written, as one that can run; None if none can."""
        database = self._reach.labelled(plan.tool) or self._reach.labelled(plan.database)
        if database is None or not mended(plan.query):
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
            given = grant(
                Desk(tool_context.state.to_dict()),
                database.tool,
                asked,
                tool_context.tool_confirmation,
            )
            if isinstance(given, Refusal):
                return {"error": given.why}
            return await self._searching.run(tool_context.state, database, asked, given)

        def asks(tool_context: ToolContext, **arguments: Any) -> bool:
            query = called_query(arguments)
            return not is_approved(Desk(tool_context.state.to_dict()), database.tool, query)

        run.__name__ = database.tool
        run.__doc__ = (
            f"Search {database.label}: {database.profile.about}. Years are 0 for any. "
            "It asks the researcher first, unless the pending plan is this search and was approved."
        )
        return FunctionTool(run, require_confirmation=asks)

    def mirror(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext
    ) -> dict[str, Any] | None:
        """Before a search asks: refuse a database out of reach, else show in the box what is asked."""
        database = next((e for e in self._databases.values() if e.tool == tool.name), None)
        if database is None or context.tool_confirmation is not None:
            return None
        if not self._reach.is_enabled(database.key):
            return {"error": self._reach.why_not(database)}
        desk, query = Desk(context.state.to_dict()), called_query(args)
        if is_approved(desk, tool.name, query):
            return None
        wish = Wish(desk.box.research_question, query.text, database.key, query, query.limit)
        try:
            plan = self._planner.plan(wish, desk.box)
        except Unplannable as problem:
            return {"error": str(problem)}
        if desk.box.pending_search_plan is None or call_of(desk.box.pending_search_plan) != call_of(
            plan
        ):
            put_plan(context.state, desk, plan)
        return None

    # ------------------------------------------------------------------ after searching

    def synthesize_findings(
        self, tool_context: ToolContext, sentences: list[str] | None = None
    ) -> dict[str, Any]:
        """Say what the papers found so far say together.

        Write the sentences yourself, each with the numbers of the papers it rests on, such as [2, 5];
        what cites no paper is marked so. Without sentences they are made of titles, venues and years.
        """
        desk = Desk(tool_context.state.to_dict())
        papers = desk.papers()
        if not papers:
            write(tool_context.state, _step_after(desk, settled(desk.situation)))
            return {
                "text": "Nothing has been found yet, so there is nothing to synthesise. Ask a question."
            }
        write(tool_context.state, {"stage": "synthesis"} | _step_after(desk, validate()))
        citations = [
            Citation(str(p.get("venue") or "paper"), str(p["title"]), uri=str(p.get("url") or ""))
            for p in papers
        ]
        reasoning = [f"{each.delta} ({each.query})." for each in desk.box.search_history]
        return {
            "text": synthesis(desk.box.research_question, papers, sentences or ()),
            "papers": [f"[{n}] {p['title']}" for n, p in enumerate(papers, 1)],
            "proof_layer": proof(citations=citations, reasoning=reasoning),
        }

    def validate_findings(self, tool_context: ToolContext) -> dict[str, Any]:
        """Check that the counts in the grounding box add up with the receipts and the papers."""
        desk = Desk(tool_context.state.to_dict())
        papers = desk.papers()
        after = export() if papers else settled(desk.situation)
        write(tool_context.state, {"stage": "validation"} | _step_after(desk, after))
        checks = check_counts(desk.box, papers)
        return {"valid": all(each.right for each in checks), "text": validation_text(checks)}

    async def export_search_strategy(self, tool_context: ToolContext) -> dict[str, Any]:
        """Write the search strategy as Markdown and its PRISMA-style counts, as two files."""
        desk = Desk(tool_context.state.to_dict())
        papers = desk.papers()
        write(tool_context.state, _step_after(desk, settled(desk.situation)))
        text = strategy(desk.box, papers, self._clock().isoformat(timespec="seconds"))
        counts = prisma(desk.box, papers)
        files = (
            (STRATEGY_FILE, "text/markdown", text),
            (COUNTS_FILE, "application/json", json.dumps(counts)),
        )
        saved: dict[str, int] = {}
        for name, kind, content in files:
            part = types.Part(inline_data=types.Blob(mime_type=kind, data=content.encode()))
            saved[name] = await tool_context.save_artifact(name, part)
        return {"files": saved, "counts": counts, "text": text}


def _to_provide(desk: Desk) -> NextAction:
    """Return the step after words that no plan could be made of: an earlier plan still waits."""
    if desk.box.pending_search_plan is not None:
        return settled(desk.situation)
    return NextAction(owner="researcher", action="provide_query", target="query", due="now")


def _step_after(desk: Desk, step: NextAction) -> dict[str, Any]:
    """Return the next step as the box keeps it; a plan that waits comes before any other."""
    waits = desk.box.pending_search_plan is not None
    return {"next_action": value_of(settled(desk.situation) if waits else step)}


def put_plan(state: Any, desk: Desk, plan: SearchPlan) -> None:
    """Put a plan before the researcher; an approval of another one does not count for it.

    The help of the last search makes room for it, and is back if the plan is cancelled.
    """
    offer(state, desk.failure)
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
