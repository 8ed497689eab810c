"""The web page, and what it reads: apps, films of runs, panels at any cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.page import catalogue, film_cache, web_page
    from adk_prism.features.page.film_cache import EntryDetails
    from adk_prism.server.data_folder import prices_of

    log, apps, heavy = context.log, context.apps, context.limits.heavy
    films = film_cache.Films(log, prices=prices_of(context.settings))
    context.lifecycle.on_cut(films.leave_all)
    return Served(
        routers=[
            web_page.routes(context.settings, apps, context.identity),
            web_page.asset_routes(),
            catalogue.routes(apps, context.errors),
            catalogue.agent_routes(apps, context.observability.secrets, context.report),
            film_cache.routes(log, films, heavy),
            film_cache.FilmRoutes(films, EntryDetails(log), context.lifecycle, log, heavy).router(),
        ]
    )


EXTENSION = Extension(
    name="page",
    summary="the web page, films and panels of runs",
    requires=("captures", "grounding", "model_calls", "proof"),
    commands=(
        Command(
            "view",
            "show a recording: conversation, timeline, state, graph and more; as JSON in a pipe",
            "adk_prism.features.page.command",
        ),
    ),
    serve=_serve,
)
