"""Save to see: when an app's files change, its conversations are run again from their recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.watch import watcher
    from adk_prism.features.watch.watcher import Watcher

    settings, listens = context.settings, context.observability.listens
    # Elsewhere nobody saves files, and others could see what the developer's code does.
    is_local = settings.is_loopback and settings.reloads(listens=listens)
    watching = Watcher(context.apps, context.log, context.lifecycle) if is_local else None
    if watching is not None:
        context.lifecycle.hold(watching.opened)
    return Served(routers=[watcher.routes(watching, context.errors)])


EXTENSION = Extension(
    name="watch",
    summary="run conversations again when code changes, from their recordings",
    requires=("captures", "rerun"),
    commands=(
        Command(
            "watch",
            "run the last conversations of an app again whenever its code changes, without a model",
            "adk_prism.features.watch.command",
        ),
    ),
    serve=_serve,
)
