"""A conversation goes on elsewhere from any cursor of one of its runs, with what it had there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.forks.forks import ForkRoutes
    from adk_prism.features.forks.history import describe_copy

    return Served(
        routers=[ForkRoutes(context).router()], describe_run=partial(describe_copy, context.chats)
    )


EXTENSION = Extension(
    name="forks", summary="continue a conversation elsewhere from any point", serve=_serve
)
