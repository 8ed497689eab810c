"""ADK's own live socket, `WS /run_live`: voice for ADK's clients, with the live runs of `WS /api/live`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.run_live.adk_socket import routes

    return Served(routers=[routes(context)])


EXTENSION = Extension(
    name="run_live",
    summary="ADK's own live socket, WS /run_live",
    serve=_serve,
)
