"""`GET /ready`: whether a load balancer should send new work here."""

from __future__ import annotations

from fastapi import APIRouter, Response

from adk_prism.server.adk.adk_models import Health
from adk_prism.server.context import Context


def routes(context: Context) -> APIRouter:
    """Return the router of readiness."""
    router = APIRouter(tags=["operating"])

    @router.get("/ready", responses={503: {"model": Health}})
    async def ready(response: Response) -> Health:
        """Tell whether the server takes new work, and its log and sessions answer; 503 if not."""
        if context.draining:
            response.status_code = 503
            return Health(status="draining")
        # Nobody has such a name: what counts is that the log can be asked.
        await context.log.list(app="-", user="-", session="-", unended=True)
        await context.apps.check_sessions()
        return Health(status="ok")

    return router
