"""Which task agent waits for the user's reply: decided by the Runner's own rule."""

from __future__ import annotations

import inspect

from google.adk import runners
from google.adk.sessions.session import Session

from adk_prism.source.adk.capability import Capability, require

_find = getattr(runners, "_find_active_task_scope", None)


def paused_task_invocation(session: Session) -> str:
    """Return the invocation of a task agent that waits for the user's reply; empty if none does."""
    scope = _find(session) if _find is not None else None
    return scope[1] if scope else ""


def _probe() -> None:
    require(_find is not None, "google.adk.runners has no _find_active_task_scope.")
    assert _find is not None
    require(list(inspect.signature(_find).parameters) == ["session"], "It takes other arguments.")
    found = _find(Session(id="s", app_name="a", user_id="u"))
    require(found is None, "It finds a task in an empty session.")


CAPABILITY = Capability(
    name="paused tasks",
    summary="continue the invocation of a workflow whose task agent asked the user something",
    without="the user's reply starts the workflow again from its first node",
    probe=_probe,
)
