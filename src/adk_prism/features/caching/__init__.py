"""HTTP caching of runs that have ended: what a browser or a CDN may keep, and byte ranges of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.extension import chosen
    from adk_prism.features.caching.reads import CachedReads, made_by
    from adk_prism.features.usage import UsageSettings

    settings = context.settings
    used = chosen(settings.without).used
    makers = made_by(used, settings.of(UsageSettings).prices)
    return Served(change_routes=CachedReads(context, makers).wrap)


EXTENSION = Extension(
    name="caching",
    summary="ETags, 304 answers and byte ranges for runs that have ended",
    requires=("usage",),
    serve=_serve,
)
