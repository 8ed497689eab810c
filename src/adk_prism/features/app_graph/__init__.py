"""What an app consists of: its agents, tools and workflow nodes, as a graph and in ADK's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.app_graph.graph import routes

    return Served(routers=routes(context.apps, context.errors))


EXTENSION = Extension(
    name="app_graph",
    summary="an app as a graph, for Studio, the page and ADK's own page",
    serve=_serve,
)
