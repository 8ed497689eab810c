"""`GET /metrics`: the numbers of this process, for a Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response

from adk_prism.server.context import Context
from adk_prism.server.identity.parameters import Administrator

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def routes(context: Context) -> APIRouter:
    """Return the router of metrics."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return the numbers in Prometheus's text format."""
        return Response(context.metrics.text(), headers={"content-type": MEDIA_TYPE})

    return router
