"""Runs as traces: sent to OpenTelemetry collectors, and shown by the page of `adk web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.otlp.export import TraceExport
    from adk_prism.features.otlp.spans import TraceRoutes

    settings = context.settings
    routers = [TraceRoutes(context).router()]
    if not settings.otlp:
        return Served(routers=routers)
    export = TraceExport(context.recording.log, settings.otlp, context.report)
    context.lifecycle.hold(export.exporting)
    return Served(routers=routers, observer=export)


EXTENSION = Extension(
    name="otlp",
    summary="export runs as OpenTelemetry traces",
    requires=("captures", "model_calls", "search"),
    commands=(
        Command(
            "export",
            "send a recorded run as a trace to an OpenTelemetry collector",
            "adk_prism.features.otlp.command",
        ),
    ),
    serve=_serve,
)
