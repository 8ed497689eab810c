"""The app, user and session of a request's path, checked, as one value. Another user's is not found."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from adk_prism.runlog.entry import Origin
from adk_prism.server.guards.name_rules import AppName, SessionId
from adk_prism.server.identity.parameters import PathUser


async def origin_of_path(app_name: AppName, user_id: PathUser, session_id: SessionId) -> Origin:
    """Return the origin that `/apps/{app_name}/users/{user_id}/sessions/{session_id}` names."""
    return Origin(app=app_name, user=user_id, session=session_id)


PathOrigin = Annotated[Origin, Depends(origin_of_path)]
