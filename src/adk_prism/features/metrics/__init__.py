"""Numbers of a server for Prometheus, and a watch that reports what blocks its event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context
    from adk_prism.server.observability import Meter


def _meter() -> Meter:
    from adk_prism.features.metrics.metrics import Metrics

    return Metrics()


def _serve(context: Context) -> Served:
    from adk_prism.features.metrics import metrics

    return Served(routers=[metrics.routes(context)])


EXTENSION = Extension(
    name="metrics",
    summary="numbers for Prometheus (GET /metrics)",
    serve=_serve,
    meter=_meter,
)
