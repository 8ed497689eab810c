"""Decides what a researcher's message means, whichever way it came; nothing else does.

Words, and what a panel has written into the state since the last message, are read together with the
box: is there a plan to answer, help to choose from, or a new question? Words are newer than the panel's
answer, so they win. The result is one thing to do, and what to write into the box; an approval can come
from nowhere else, so no model can give one to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from msgspec import structs

from adk_prism.grounding import (
    Approval,
    GroundingBox,
    NextAction,
    PanelAnswers,
    RemedyAction,
    SearchPlan,
    value_of,
)

from ..databases.query import Query
from ..next_actions import approve, modify, next_action
from ..planning.filters import with_filters
from ..planning.planner import FULL_RUN, query_of_plan
from ..planning.question import is_remark, is_subject
from .changes import (
    Changes,
    changed_query,
    read_changes,
    read_filters,
)
from .decision import read_answer, split_approval, split_modify
from .remedy import find_remedy, means_remedy
from .request import Request, read_request

Do = Literal[
    "search",
    "propose",
    "cancelled",
    "ask_again",
    "ask_change",
    "nothing_pending",
    "no_such_remedy",
    "remedy",
    "no_question",
    "remark",
    Request,
]

LONGEST_QUESTION = 1000
"""Characters of a question that the box keeps: about a paragraph."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What to do, about what, and what to write into the box first."""

    do: Do
    about: dict[str, Any] = field(default_factory=dict)
    writes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentReader:
    """One message, in its situation."""

    text: str
    box: GroundingBox
    answers: PanelAnswers
    names: Mapping[str, str]
    """What people call databases, in lower case, with their keys."""
    now: datetime

    def read(self) -> Intent:
        """Return what the message means."""
        plan = self.box.pending_search_plan
        if plan is not None:
            return self._about_plan(plan)
        return self._about_help() or self._without_plan()

    # ------------------------------------------------------------------ a plan waits

    def _about_plan(self, plan: SearchPlan) -> Intent:
        return (
            self._said(plan)
            or self._written(plan)
            or self._about_help()
            or self._assumed_anew(plan)
            or self._request()
            or self._replaced()
            or Intent("ask_again", writes={"next_action": value_of(approve(plan))})
        )

    def _said(self, plan: SearchPlan) -> Intent | None:
        """Read the words alone: a decision, or what is to change."""
        answer = read_answer(self.text)
        if answer == "unclear":
            return Intent("ask_again", writes=_undecided(plan))
        if answer is not None and answer != "modify":
            return self._decided(plan, answer)
        wanted = split_modify(self.text)
        if wanted is None:
            wanted = split_approval(self.text)
        if wanted is None and self._asked_for_changes():
            wanted = self.text
        if wanted:
            changes = self._changes(wanted)
            if changes.any or changes.rest:
                return self._changed(plan, changes, takes_rest=split_approval(self.text) is None)
        elif wanted is not None or answer == "modify":
            return self._modified_by_panel(plan)
        alone = self._changes(self.text)
        return self._changed(plan, alone) if alone.any and not alone.rest else None

    def _asked_for_changes(self) -> bool:
        return self.box.next_action is not None and self.box.next_action.action == "modify_plan"

    def _changes(self, text: str) -> Changes:
        return read_changes(text, self.now.year, self.names)

    def _written(self, plan: SearchPlan) -> Intent | None:
        """Act on what the panel has written."""
        approval = self.answers.user_approval
        if approval is None:
            return None
        return (
            self._modified_by_panel(plan) if approval == "modify" else self._decided(plan, approval)
        )

    def _decided(self, plan: SearchPlan, approval: Approval) -> Intent:
        given = {"user_approval": approval, "approval_timestamp": self._stamp(approval)}
        if approval == "cancel":
            left = structs.replace(self.box, pending_search_plan=None)
            given |= {"pending_search_plan": None, "preview_mode": False}
            return Intent("cancelled", writes=given | _help_again(left) | _open_step(left))
        # A panel that asks for a preview and approves means a short run, unless that has been made.
        asked = self.answers.preview_mode is True and self.answers.user_approval == approval
        short = approval == "short_run" or (asked and not self._was_previewed(plan))
        given |= {"user_approval": "short_run" if short else "ok", "preview_mode": short}
        return Intent("search", {"short_run": short}, given)

    def _was_previewed(self, plan: SearchPlan) -> bool:
        last = self.box.search_history[-1] if self.box.search_history else None
        return last is not None and last.preview and last.query == plan.query

    def _stamp(self, approval: Approval) -> Any:
        known = self.answers.user_approval == approval and self.answers.approval_timestamp
        return known or self.now.isoformat(timespec="seconds")

    def _modified_by_panel(self, plan: SearchPlan) -> Intent:
        """Plan again with the filters that the panel has changed, or ask what to change."""
        if self.box.current_filters != plan.filters:
            query, odd = with_filters(
                Query(plan.query, limit=plan.limit or FULL_RUN), self.box.current_filters
            )
            return self._proposes(query, {"odd": odd} if odd else {})
        asks = {"next_action": value_of(modify(plan))}
        return Intent("ask_change", writes=_undecided(plan) | asks)

    def _assumed_anew(self, plan: SearchPlan) -> Intent | None:
        """Plan again if the panel has changed the assumptions, and the message says nothing else."""
        unknown = [
            e
            for e in self.box.search_assumptions
            if f'"{" ".join(e.split())}"' not in plan.rationale
        ]
        if not unknown or not self.box.research_question or read_request(self.text) != "continue":
            return None
        return self._proposes(replace(query_of_plan(plan), text=""), {})

    def _changed(self, plan: SearchPlan, changes: Changes, *, takes_rest: bool = True) -> Intent:
        query = changed_query(query_of_plan(plan), changes, takes_rest=takes_rest)
        return self._proposes(query, {"database": changes.database})

    def _proposes(self, query: Query, about: dict[str, Any]) -> Intent:
        wanted = {"question": self.box.research_question, "query": query.text, **_asked(query)}
        return Intent("propose", wanted | about, {"user_approval": "modify"})

    def _replaced(self) -> Intent | None:
        """Take a message for a new question only if it is one beyond doubt: it says what about."""
        talk = {word.strip("?.,!").casefold() for word in self.text.split()} & _PLAN_TALK
        return None if talk or not is_subject(self.text) else self._question()

    # ------------------------------------------------------------------ help is offered

    def _about_help(self) -> Intent | None:
        failure = self.box.last_search_failure
        offered = failure.actions if failure is not None else []
        chosen = self.answers.selected_remedy
        said = find_remedy(self.text, offered)
        if said is not None:
            return self._remedy(said)
        if chosen is not None:
            found = find_remedy(chosen, offered)
            if found is not None:
                return self._remedy(found)
            return Intent(
                "no_such_remedy",
                {"chosen": chosen[:80]},
                {"selected_remedy": None} | _open_step(self.box),
            )
        if means_remedy(self.text):
            return Intent("no_such_remedy", {"chosen": self.text[:80]}, _open_step(self.box))
        return None

    def _remedy(self, action: RemedyAction) -> Intent:
        context = self.answers.remedy_context
        about = {"name": action.name, "context": context if isinstance(context, dict) else {}}
        return Intent("remedy", about, {"selected_remedy": action.name})

    # ------------------------------------------------------------------ nothing waits

    def _without_plan(self) -> Intent:
        stale = {"user_approval": None} if self.answers.user_approval is not None else {}
        if read_answer(self.text) is not None or (stale and read_request(self.text) == "continue"):
            return Intent("nothing_pending", writes=stale | _open_step(self.box))
        intent = self._request() or self._question()
        return replace(intent, writes=stale | intent.writes)

    def _request(self) -> Intent | None:
        plan, request = self.box.pending_search_plan, read_request(self.text)
        if request is None or (request == "continue" and plan is not None):
            return None
        if plan is not None or request in ("help", "continue", "cost"):
            return Intent(request, writes=_open_step(self.box))
        does = NextAction(owner="agent", action=request, target="what was found", due="now")
        return Intent(request, writes={"next_action": value_of(does)})

    def _question(self) -> Intent:
        filters = read_filters(self.text, self.now.year, self.names)
        is_new = not is_remark(filters.rest)
        if not is_new and not filters.any:
            return Intent("remark", writes=_open_step(self.box))
        question = filters.rest if is_new else self.box.research_question
        if not question.strip():
            return Intent("no_question", writes=_open_step(self.box))
        base, odd = with_filters(Query("", limit=FULL_RUN), self.box.current_filters)
        query = changed_query(base, filters, takes_rest=False)
        about: dict[str, Any] = {"question": question[:LONGEST_QUESTION], "query": ""}
        about |= _asked(query) | {"database": filters.database}
        if odd:
            about["odd"] = odd
        plans = NextAction(owner="agent", action="search", target="a plan", due="now")
        return Intent(
            "propose",
            about,
            {
                "research_question": question.strip()[:LONGEST_QUESTION],
                "stage": "retrieval" if self.box.search_history else "scoping",
                "next_action": value_of(plans),
            },
        )


def cancelled(box: GroundingBox, now: datetime) -> Intent:
    """Return what a bare denial means, whether or not the plan is still there."""
    if box.pending_search_plan is None:
        return Intent("cancelled", writes=_open_step(box))
    return IntentReader("cancel", box, PanelAnswers(), {}, now).read()


_PLAN_TALK = frozenset(
    "plan query database filter filters expected results mean means why choose chose chosen sure maybe "
    "hmm wait cost approve approval".split()
)


def _asked(query: Query) -> dict[str, Any]:
    """Return a query's filters as the arguments of a tool."""
    return {
        "since": query.since or 0,
        "until": query.until or 0,
        "fields": list(query.fields),
        "kinds": list(query.kinds),
        "limit": query.limit,
    }


def _undecided(plan: SearchPlan) -> dict[str, Any]:
    return {"next_action": value_of(approve(plan)), "user_approval": None}


def _open_step(box: GroundingBox) -> dict[str, Any]:
    return {"next_action": value_of(next_action(box))}


def _help_again(box: GroundingBox) -> dict[str, Any]:
    """Return the help of the last search: without the plan it is what there is to choose from."""
    failure = box.last_search_failure
    return {"last_search_failure": value_of(failure)} if failure is not None else {}
