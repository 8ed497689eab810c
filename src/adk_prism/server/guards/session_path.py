"""The app, user and session of a request's path, checked, as one value. Another user's is not found."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from adk_prism.runlog.entry import Origin
from adk_prism.server.guards.name_rules import AppName, SessionId
from adk_prism.server.identity.parameters import PathUser, QueryUser


async def origin_of_path(
    request: Request, app_name: AppName, user_id: PathUser, session_id: SessionId
) -> Origin:
    """Return the origin that `/apps/{app_name}/users/{user_id}/sessions/{session_id}` names.

    Raise `Gone` for a conversation that its user has deleted. It can still be deleted for good.
    """
    origin = Origin(app=app_name, user=user_id, session=session_id)
    if request.method != "DELETE":
        await request.app.state.context.deletions.check(origin)
    return origin


PathOrigin = Annotated[Origin, Depends(origin_of_path)]


async def _origin_of_chat(app_name: AppName, chat_id: SessionId, user: QueryUser) -> Origin:
    return Origin(app=app_name, user=user, session=chat_id)


Chat = Annotated[Origin, Depends(_origin_of_chat)]
"""The conversation that `/api/chat/{app_name}/{chat_id}` names."""
