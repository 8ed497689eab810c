"""A conversation goes on elsewhere from any cursor of one of its runs, with what it had there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.features.forks.forks import Forks
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.forks.forks import ForkRoutes

    routes = ForkRoutes(
        context.apps,
        context.log,
        make_forks(context),
        context.starter.client_state,
        context.starter.idempotency,
        context.audit,
        context.lifecycle,
    )
    return Served(routers=[routes.router()])


def make_forks(context: Context) -> Forks:
    """Return what forks runs."""
    from adk_prism.features.forks.forks import Forks
    from adk_prism.features.forks.history import ForkHistories

    histories = ForkHistories(context.log, context.chats, context.starter.client_state.refused_keys)
    return Forks(
        context.log,
        context.apps,
        context.runs,
        context.runs.locks,
        histories,
        context.conversations,
        context.report,
    )


EXTENSION = Extension(
    name="forks", summary="continue a conversation elsewhere from any point", serve=_serve
)
