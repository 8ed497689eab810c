"""`GET /api/audit`: who did what, for administrators."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query

from adk_prism.errors import NotFound
from adk_prism.server.identity.parameters import Administrator
from adk_prism.server.observability.audit.audit_log import AuditLine, AuditLog

MAX_LIMIT = 1000
"""Actions in one answer."""


def routes(audit_log: AuditLog) -> APIRouter:
    """Return the router of the audit log."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/audit")
    async def audit(
        action: str = "",
        by: str = "",
        user: str = "",
        run: str = "",
        before: Annotated[float, Query(description="Seconds since 1970; 0: now.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
    ) -> list[dict[str, Any]]:
        """Return the last actions that match, the newest first."""
        if not audit_log.is_kept:
            raise NotFound(
                "This server has no audit log; the operator can enable it with --audit FILE."
            )
        filters = {"action": action, "by": by, "user": user, "run": run}
        asked = {name: value for name, value in filters.items() if value}

        def wanted(line: AuditLine) -> bool:
            is_earlier = not before or line.time < before
            return is_earlier and all(getattr(line, n) == v for n, v in asked.items())

        return [msgspec.to_builtins(found) for found in await audit_log.last(limit, wanted)]

    return router
