"""`GET /api/audit`: who did what, for administrators."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query

from adk_prism.errors import NotFound
from adk_prism.server.context import Context
from adk_prism.server.identity.parameters import Administrator
from adk_prism.server.observability.audit.audit_log import AuditLine

MOST = 1000
"""Deeds in one answer."""


def routes(context: Context) -> APIRouter:
    """Return the router of the audit trail."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/audit")
    async def audit(
        action: str = "",
        by: str = "",
        user: str = "",
        run: str = "",
        before: Annotated[float, Query(description="Seconds since 1970; 0: now.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
    ) -> list[dict[str, Any]]:
        """Return the last deeds that match, the newest first."""
        if not context.audit.is_kept:
            raise NotFound(
                "This server has no audit log; the operator can enable it with --audit FILE."
            )
        wishes = {"action": action, "by": by, "user": user, "run": run}
        asked = {name: value for name, value in wishes.items() if value}

        def wanted(account: AuditLine) -> bool:
            is_earlier = not before or account.time < before
            return is_earlier and all(getattr(account, n) == v for n, v in asked.items())

        return [msgspec.to_builtins(found) for found in await context.audit.last(limit, wanted)]

    return router
