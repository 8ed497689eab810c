"""The web page, and what it reads: apps, films of runs, panels at any cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.page import catalogue, film_cache, web_page

    apps, secrets = context.apps, context.observability.secrets
    return Served(
        routers=[
            web_page.routes(context.settings, apps, context.identity),
            catalogue.routes(apps, context.errors, secrets, context.report),
            film_cache.FilmRoutes(context).router(),
        ]
    )


EXTENSION = Extension(
    name="page",
    summary="the web page, films and panels of runs",
    requires=("captures", "grounding", "model_calls", "proof", "usage"),
    commands=(
        Command(
            "view",
            "show a recording: conversation, timeline, state, graph and more; as JSON in a pipe",
            "adk_prism.features.page.text",
        ),
    ),
    serve=_serve,
)
