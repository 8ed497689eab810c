"""`GET /api/me`: who the server takes the caller for, so that a client can show it, or ask for a token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.parameters import CallerOf


def routes() -> APIRouter:
    """Return the router of the caller's own name."""
    router = APIRouter(tags=["identity"])

    @router.get("/api/me")
    async def me(caller: CallerOf) -> dict[str, Any]:
        """Return the caller's name and whether it is an administrator; null where nobody is asked."""
        if isinstance(caller, Principal):
            return {"user": caller.user, "admin": caller.admin}
        return {"user": None, "admin": False}

    return router
