"""Conversations as their users keep them: a list with names and pins, deletion and restoring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.conversations.listing import ListRoutes, routes

    return Served(routers=[ListRoutes(context).router(), routes(context)])


EXTENSION = Extension(
    name="conversations",
    summary="list, name, pin, delete and restore conversations",
    requires=("forks",),
    serve=_serve,
)
