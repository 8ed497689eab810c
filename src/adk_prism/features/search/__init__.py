"""Finds runs by what was said and done in them: a digest of each run, kept beside the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.search.fields import SearchRoutes
    from adk_prism.features.search.index import RunIndex, index_of
    from adk_prism.features.usage import UsageSettings

    log = context.recording.log
    index = RunIndex(
        log,
        index_of(log),
        context.runs.deletions,
        context.report,
        context.streams.annotators,
    )
    context.lifecycle.hold(index.indexing)
    routes = SearchRoutes(context.log, index, context.settings.of(UsageSettings).read())
    return Served(routers=[routes.router()], observer=index)


EXTENSION = Extension(
    name="search",
    summary="find runs by text, tools, agents, outcome and more",
    requires=("captures", "usage"),
    commands=(Command("runs", "find recorded runs", "adk_prism.features.search.command"),),
    serve=_serve,
)
