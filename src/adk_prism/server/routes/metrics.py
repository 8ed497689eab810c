"""`GET /metrics`: the metrics of this process, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response

from adk_prism.server.identity.parameters import Administrator
from adk_prism.server.observability.metrics.metrics import Metrics

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def routes(collected: Metrics) -> APIRouter:
    """Return the router of metrics."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return the metrics in Prometheus's text format."""
        return Response(collected.text(), headers={"content-type": MEDIA_TYPE})

    return router
