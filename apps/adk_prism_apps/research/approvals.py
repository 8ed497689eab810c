"""Whether a search may run: only if the researcher has approved that very search.

ADK's tool confirmation asks (`require_confirmation`), unless the pending plan was approved already, by
text or in the panel. Which model calls the tool makes no difference. A search that is not the pending
plan becomes the pending plan, so that the box shows what is being asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.adk.tools.tool_confirmation import ToolConfirmation

from adk_prism.grounding import APPROVALS, Approval

from .databases.query import MOST_RESULTS, Query
from .planning.planner import SHORT_RUN, query_of_plan
from .session_state import SessionState


@dataclass(frozen=True, slots=True)
class ApprovedSearch:
    """A search that may run: how it was allowed, and how many papers it may read."""

    approval: Approval
    by: str
    limit: int

    @property
    def short(self) -> bool:
        """Whether it is a short run."""
        return self.approval == "short_run"


@dataclass(frozen=True, slots=True)
class RefusedSearch:
    """A search that may not run although it was confirmed; the text says why."""

    why: str


def is_planned(session: SessionState, tool: str, query: Query) -> bool:
    """Return whether a call is the pending plan, however many papers it asks for."""
    plan = session.box.pending_search_plan
    if plan is None or plan.tool != tool:
        return False
    return _same(query_of_plan(plan), query)


def is_approved(session: SessionState, tool: str, query: Query) -> bool:
    """Return whether the pending plan is this call, and has been approved."""
    return session.answers.user_approval in ("ok", "short_run") and is_planned(session, tool, query)


def check_approval(
    session: SessionState, tool: str, query: Query, confirmation: ToolConfirmation | None
) -> ApprovedSearch | RefusedSearch:
    """Return what a call that came this far may do."""
    approval = session.answers.user_approval
    if confirmation is not None and not is_planned(session, tool, query):
        return RefusedSearch(
            "This plan no longer waits: it was answered in another way, or another plan took its "
            "place. Nothing was searched."
        )
    if confirmation is not None and approval in ("cancel", "modify"):
        return RefusedSearch(
            f"The plan was confirmed, but the panel says {approval!r}; nothing was searched."
        )
    said = _said(confirmation)
    short = "short_run" in (approval, said) or (
        session.answers.preview_mode is True and not was_previewed(session, query)
    )
    by = "approved by confirmation" if confirmation is not None else "approved in chat"
    limit = min(query.limit, MOST_RESULTS)
    return ApprovedSearch(
        "short_run" if short else "ok", by, min(limit, SHORT_RUN) if short else limit
    )


def was_previewed(session: SessionState, query: Query) -> bool:
    """Return whether the last search was the short run of this one."""
    last = session.box.search_history[-1] if session.box.search_history else None
    return last is not None and last.preview and last.query == query.text


def _said(confirmation: ToolConfirmation | None) -> str:
    """Return the decision in a confirmation's payload, for clients that can say more than yes."""
    payload: Any = confirmation.payload if confirmation is not None else None
    said = payload.get("decision") if isinstance(payload, dict) else None
    return said if said in APPROVALS else ""


def _same(one: Query, other: Query) -> bool:
    return (
        " ".join(one.text.split()) == " ".join(other.text.split())
        and (one.since, one.until) == (other.since, other.until)
        and set(one.fields) == set(other.fields)
        and set(one.kinds) == set(other.kinds)
    )
