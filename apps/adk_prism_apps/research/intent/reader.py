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
from adk_prism.models import foreign_language

from ..databases.query import Query
from ..next_actions import approve, modify, next_action
from ..planning.filters import with_filters
from ..planning.planner import FULL_RUN, query_of_plan
from ..planning.question import asks_about_search, is_remark, is_subject, query_of
from ..writing.help import ANYWAY
from .change_rules import Changes
from .changes import changed_query, read_changes, read_filters
from .chat_words import written_out
from .decision import read_answer, split_decision
from .remedy import find_remedy, means_remedy
from .request import Request, read_request
from .scope import is_out_of_scope

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
    "out_of_scope",
    "other_language",
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
    edited: tuple[str, ...] = ()
    """What the panel has edited since the pending plan was made: question, filters, assumptions."""

    def read(self) -> Intent:
        """Return what the message means."""
        if (text := written_out(self.text)) != self.text:
            return replace(self, text=text).read()
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
            or self._edits(plan)
            or self._elsewhere()
            or self._request()
            or self._replaced()
            or Intent("ask_again", writes={"next_action": value_of(approve(plan))})
        )

    def _said(self, plan: SearchPlan) -> Intent | None:
        """Read the words alone: a decision, what is to change, or both."""
        answer = read_answer(self.text)
        if answer == "unclear":
            return Intent("ask_again", writes=_undecided(plan))
        if answer is not None and answer != "modify":
            return self._decided(plan, answer)
        decision, wanted = split_decision(self.text)
        if decision is None and self._asked_for_changes():
            decision = "modify"
        if decision is not None and not wanted:
            return self._modified_by_panel(plan)
        changes = self._changes(wanted)
        if decision is None and (not changes.any or asks_about_search(self.text)):
            return None
        return self._combined(plan, decision, changes)

    def _combined(
        self, plan: SearchPlan, decision: Approval | str | None, changes: Changes
    ) -> Intent | None:
        """Read a decision that comes with changes, or with words that no change was read from."""
        rest = "" if is_remark(changes.rest) else changes.rest
        if (
            decision is None
            and rest
            and not changes.topic
            and (changes.is_wish_alone or not _is_mostly_change(self.text, rest))
        ):
            return None  # a new question that has years in it, or the like
        if changes.topic:
            return self._restated(plan, changes, changes.topic, unread=rest)
        if decision == "modify" and rest and (is_subject(rest) or not changes.any):
            changed = changed_query(query_of_plan(plan), changes, text=rest)
            return self._proposes(changed, _said_besides(changes, ""))
        if changes.any:
            return self._changed(plan, changes, unread=rest)
        if rest and decision == "cancel":
            return self._restated(plan, changes, rest)
        if decision == "cancel":
            return self._modified_by_panel(plan)
        return Intent("ask_again", writes=_undecided(plan))

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
        if self.edited:
            return self._replanned(plan)
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
        """Plan again with what the panel has edited, or ask what to change."""
        if self.edited:
            return self._replanned(plan)
        asks = {"next_action": value_of(modify(plan))}
        return Intent("ask_change", writes=_undecided(plan) | asks)

    def _edits(self, plan: SearchPlan) -> Intent | None:
        """Plan again with what the panel has edited, if the message says nothing else."""
        if not self.edited or read_request(self.text) != "continue":
            return None
        return self._replanned(plan)

    def _replanned(self, plan: SearchPlan) -> Intent:
        """Make the pending plan anew from what the panel has edited; it has to be approved again."""
        return self._proposes(*self._edited_query(plan))

    def _edited_query(self, plan: SearchPlan) -> tuple[Query, dict[str, Any]]:
        """Return a plan's query with the panel's edits and what to say of them; no words if they changed."""
        query, odd = query_of_plan(plan), list[str]()
        if "filters" in self.edited:
            bare = Query(plan.query, limit=plan.limit or FULL_RUN)
            query, odd = with_filters(bare, self.box.current_filters)
        if "question" in self.edited or "assumptions" in self.edited:
            query = replace(query, text="")
        about: dict[str, Any] = {"edited": list(self.edited)} if self.edited else {}
        return query, about | ({"odd": odd} if odd else {})

    def _changed(self, plan: SearchPlan, changes: Changes, *, unread: str = "") -> Intent:
        query, about = self._edited_query(plan)
        if not query.text:
            query = replace(query, text=query_of(self.box.research_question) or plan.query)
        return self._proposes(changed_query(query, changes), _said_besides(changes, unread) | about)

    def _restated(
        self, plan: SearchPlan, changes: Changes, topic: str, *, unread: str = ""
    ) -> Intent:
        """Plan for another subject; the filters of the plan stay unless they are changed too."""
        query = changed_query(query_of_plan(plan), changes, text=query_of(topic) or topic)
        as_written = read_filters(self.text, self.now.year, self.names).rest
        question = (topic if split_decision(self.text)[0] else as_written)[:LONGEST_QUESTION]
        proposed = self._proposes(query, _said_besides(changes, unread) | {"question": question})
        return replace(proposed, writes=proposed.writes | {"research_question": question})

    def _proposes(self, query: Query, about: dict[str, Any]) -> Intent:
        wanted = {"question": self.box.research_question, "query": query.text, **_asked(query)}
        return Intent("propose", wanted | about, {"user_approval": "modify"})

    def _replaced(self) -> Intent | None:
        """Take a message for a new question only if it is one beyond doubt: it says what about."""
        talk = set(_words(self.text)) & _PLAN_TALK
        if talk or is_remark(self.text) or not is_subject(self.text):
            return None
        return self._question()

    def _is_plan_talk(self) -> bool:
        """Return whether a message is about the search itself, when there has been one."""
        been = self.box.last_search_failure is not None or bool(self.box.search_history)
        return been and is_remark(" ".join(w for w in _words(self.text) if w not in _PLAN_TALK))

    def _elsewhere(self) -> Intent | None:
        """Return what to say to a message that no search can answer."""
        if language := foreign_language(self.text):
            return Intent("other_language", {"language": language}, _open_step(self.box))
        if is_out_of_scope(self.text):
            return Intent("out_of_scope", writes=_open_step(self.box))
        return None

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
        intent = self._elsewhere() or self._request() or self._changed_last_search()
        if intent is None:
            # "yes, neural rendering" answers no plan; what follows the answer is the question.
            decision, wanted = split_decision(self.text)
            bare = replace(self, text=wanted) if decision and wanted else self
            intent = bare._elsewhere() or bare._question()
        return replace(intent, writes=stale | intent.writes)

    def _changed_last_search(self) -> Intent | None:
        """Read changes, such as "without images", as changes of the last search that was made or refused."""
        refused, made = self._refused(), self.box.search_history
        if refused is not None:
            return self._changed_from(self._said(refused))
        changes = self._changes(self.text)
        if not made or not changes.any or changes.topic or not is_remark(changes.rest):
            return None
        if asks_about_search(self.text):
            return None
        query, _ = with_filters(Query(made[-1].query, limit=FULL_RUN), made[-1].filters)
        return self._changed_from(
            self._proposes(changed_query(query, changes), _said_besides(changes, ""))
        )

    def _changed_from(self, intent: Intent | None) -> Intent | None:
        """Return a proposal without the decision on a plan: none is pending."""
        if intent is None or intent.do != "propose":
            return None
        writes = {name: each for name, each in intent.writes.items() if name != "user_approval"}
        return replace(intent, writes=writes)

    def _refused(self) -> SearchPlan | None:
        """Return the plan that was not put up for approval because it finds nothing."""
        failure = self.box.last_search_failure
        for each in failure.actions if failure is not None else ():
            if each.name == ANYWAY:
                return SearchPlan(
                    database=each.database,
                    query=each.query,
                    filters=each.filters,
                    rationale="",
                    expected_results="",
                    limit=each.limit,
                )
        return None

    def _request(self) -> Intent | None:
        plan, request = self.box.pending_search_plan, read_request(self.text)
        if request is None or (request == "continue" and plan is not None):
            return None
        if plan is not None or request in ("help", "continue", "cost"):
            return Intent(request, writes=_open_step(self.box))
        does = NextAction(owner="agent", action=request, target="what was found", due="now")
        return Intent(request, writes={"next_action": value_of(does)})

    def _question(self) -> Intent:
        exact = self._changes(self.text)
        if exact.query:
            question = self.box.research_question or exact.query
            return self._proposes(
                changed_query(Query("", limit=FULL_RUN), exact), {"question": question}
            )
        filters = read_filters(self.text, self.now.year, self.names)
        is_new = not (is_remark(filters.rest) or self._is_plan_talk())
        if not is_new and not filters.any:
            return Intent("remark", writes=_open_step(self.box))
        question = filters.rest if is_new else self.box.research_question
        if not question.strip():
            return Intent("no_question", writes=_open_step(self.box))
        base, odd = with_filters(Query("", limit=FULL_RUN), self.box.current_filters)
        query = changed_query(base, filters)
        about: dict[str, Any] = {"question": question[:LONGEST_QUESTION], "query": ""}
        about |= _asked(query) | _said_besides(filters, "")
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
    "hmm wait cost approve approval wrong shorter longer".split()
)


def _words(text: str) -> list[str]:
    return [word.strip("?.,!").casefold() for word in text.split()]


def _is_mostly_change(text: str, rest: str) -> bool:
    """Return whether a message is about a change, with a few words that were not understood."""
    return not is_subject(rest) or 2 * len(rest) < len(text)


def _said_besides(changes: Changes, unread: str) -> dict[str, Any]:
    """Return what a proposal has to say of a message besides its query."""
    about = {
        "database": changes.database,
        "unsupported": changes.unsupported,
        "unread": unread,
        "cannot": changes.cannot,
    }
    return {name: value for name, value in about.items() if value or name == "database"}


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
