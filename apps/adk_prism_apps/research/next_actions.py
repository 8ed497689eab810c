"""The next step and who has to take it, between two turns: one rule for every kind of turn."""

from __future__ import annotations

from adk_prism.grounding import GroundingBox, NextAction, SearchFailure, SearchPlan


def next_action(box: GroundingBox) -> NextAction:
    """Return the step that the box leaves open: a plan to approve, help to choose from, or a question."""
    if box.pending_search_plan is not None:
        return approve(box.pending_search_plan)
    if box.last_search_failure is not None:
        return refine(box.last_search_failure)
    return NextAction(owner="researcher", action="ask", target="the next question", due="now")


def approve(plan: SearchPlan) -> NextAction:
    """Return the step of a plan that waits."""
    return NextAction(owner="researcher", action="approve_search", target=plan.database, due="now")


def refine(failure: SearchFailure) -> NextAction:
    """Return the step of a search that failed."""
    where = failure.context.get("database")
    target = where if isinstance(where, str) else "the last search"
    return NextAction(owner="researcher", action="refine", target=target, due="now")


def modify(plan: SearchPlan) -> NextAction:
    """Return the step of a plan that is to be changed in a way that was not said yet."""
    return NextAction(owner="researcher", action="modify_plan", target=plan.database, due="now")


def validate() -> NextAction:
    """Return the step after a synthesis."""
    return NextAction(owner="researcher", action="validate", target="the synthesis")


def export() -> NextAction:
    """Return the step after a validation."""
    return NextAction(owner="researcher", action="export", target="the search strategy")
