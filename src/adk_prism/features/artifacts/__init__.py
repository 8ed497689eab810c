"""ADK's routes of artifacts and memory: what agents saved, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.artifacts.routes import ArtifactRoutes

    return Served(routers=[ArtifactRoutes(context.apps, context.audit).router()])


EXTENSION = Extension(
    name="artifacts",
    summary="ADK's routes of artifacts and memory",
    serve=_serve,
)
