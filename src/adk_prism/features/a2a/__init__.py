"""Agents over A2A, at the addresses of `adk api_server --a2a`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import FLAG, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class A2aSettings(FeatureSettings):
    """Whether agents are served over A2A."""

    title: ClassVar[str] = "Server"
    a2a: bool = FLAG.option(
        "serve the apps that have an agent card (`agent.json`) over A2A, at /a2a/APP;"
        " needs google-adk[a2a]"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.a2a import server as a2a
    from adk_prism.features.a2a.server import require_a2a

    if context.settings.of(A2aSettings).a2a:
        require_a2a()
    return Served(routers=[a2a.routes(context)])


EXTENSION = Extension(
    name="a2a",
    summary="agents over A2A (--a2a)",
    serve=_serve,
    settings=lambda: A2aSettings,
)
