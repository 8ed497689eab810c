"""Agents over A2A, at the addresses of `adk api_server --a2a`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.features.a2a.settings import A2aSettings
    from adk_prism.server.context import Context


def _settings() -> type[A2aSettings]:
    from adk_prism.features.a2a.settings import A2aSettings

    return A2aSettings


def _serve(context: Context) -> Served:
    from adk_prism.features.a2a import server as a2a
    from adk_prism.features.a2a.server import require_a2a
    from adk_prism.features.a2a.settings import A2aSettings

    if context.settings.of(A2aSettings).a2a:
        require_a2a()
    return Served(routers=[a2a.routes(context)])


EXTENSION = Extension(
    name="a2a",
    summary="agents over A2A (--a2a)",
    serve=_serve,
    settings=_settings,
)
