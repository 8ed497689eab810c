"""Runs as traces: sent to OpenTelemetry collectors, and shown by the page of `adk web`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Command, Extension, Served
from adk_prism.options import URL, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class OtlpSettings(FeatureSettings):
    """Where runs are sent as traces."""

    title: ClassVar[str] = "Logging"
    otlp: str = URL.option(
        "send every run that has ended as a trace to this OpenTelemetry collector, over HTTP"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.otlp.export import TraceExport
    from adk_prism.features.otlp.spans import TraceRoutes

    collector = context.settings.of(OtlpSettings).otlp
    routers = [TraceRoutes(context).router()]
    if not collector:
        return Served(routers=routers)
    export = TraceExport(context.recording.log, collector, context.report)
    context.lifecycle.hold(export.exporting)
    return Served(routers=routers, observer=export)


EXTENSION = Extension(
    name="otlp",
    summary="export runs as OpenTelemetry traces",
    requires=("captures", "model_calls", "search", "usage"),
    commands=(
        Command(
            "export",
            "send a recorded run as a trace to an OpenTelemetry collector",
            "adk_prism.features.otlp.command",
        ),
    ),
    serve=_serve,
    settings=lambda: OtlpSettings,
)
