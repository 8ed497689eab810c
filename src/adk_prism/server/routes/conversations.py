"""A conversation as its user keeps it: name it, pin it, delete it, restore it.

Deleting hides a conversation at once and stops its run. It can be restored for a quarter of an hour; then
its runs, ADK's session and the session's artifacts are removed.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictBool

from adk_prism.errors import NotFound
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.conversation_label import change_label, clean_title
from adk_prism.runlog.entry import Origin
from adk_prism.server.context import Context
from adk_prism.server.guards.session_path import Chat
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.server.problem_format import CHAT_PATH, TEXT_RESPONSES


class ChangeConversation(BaseModel):
    """What is left out stays as it is."""

    title: str | None = Field(default=None, description="Empty: the first message again.")
    pinned: StrictBool | None = None


def routes(context: Context) -> APIRouter:
    """Return the router of conversations."""
    router = APIRouter(
        prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=TEXT_RESPONSES
    )
    apps, log, deletions, audit = context.apps, context.log, context.deletions, context.audit

    async def check(origin: Origin) -> None:
        if await log.list(app=origin.app, user=origin.user, session=origin.session):
            return
        if apps.find(origin.app) and await apps.sessions(origin.app).exists(origin):
            return
        raise NotFound("There is no such conversation.")

    @router.patch("/{app_name}/{chat_id}")
    async def change(chat: Chat, given: ChangeConversation) -> dict[str, Any]:
        """Name a conversation, or pin it; return its name (empty: the first message) and its pin."""
        title = None if given.title is None else clean_title(given.title)
        await check(chat)
        label = await change_label(log, chat, title, given.pinned)
        return {"title": label.title, "pinned": label.pinned}

    @router.delete("/{app_name}/{chat_id}")
    async def delete(chat: Chat) -> dict[str, Any]:
        """Delete a conversation and stop its run. `restoreUntil`: seconds since 1970."""
        is_new = chat not in await deletions.current()
        if is_new:
            await check(chat)
        until = await deletions.delete(chat, called_by())
        await context.canceller.stop(chat)
        if is_new:
            await audit.note(AuditedAction(action="session deleted", origin=chat))
        return {"deleted": True, "restoreUntil": until}

    @router.post("/{app_name}/{chat_id}/restore")
    async def restore(chat: Chat) -> dict[str, Any]:
        """Restore a conversation that was deleted, as long as it is there; otherwise nothing happens."""
        async with context.locks.held(chat):
            restored = await deletions.forget(chat)
        await check(chat)
        if restored:
            await audit.note(AuditedAction(action="session restored", origin=chat))
        return {"restored": restored}

    return router
