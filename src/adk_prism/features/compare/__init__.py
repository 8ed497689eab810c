"""Two runs side by side: what is the same, what differs, what only one of them did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.compare import routes as compare
    from adk_prism.features.model_calls import model_calls

    calls = model_calls(context)
    return Served(routers=[compare.routes(context.log, context.chats, calls, context.limits.heavy)])


EXTENSION = Extension(
    name="compare",
    summary="compare two runs",
    requires=("captures", "model_calls", "page", "usage"),
    commands=(
        Command(
            "compare",
            "compare two runs; fail in CI if they differ",
            "adk_prism.features.compare.command",
        ),
    ),
    serve=_serve,
)
