"""CopilotKit's runtime wire, so that `<CopilotKit runtimeUrl=…>` works without a runtime of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.copilotkit import runtime as copilotkit

    return Served(routers=[copilotkit.routes(context)])


EXTENSION = Extension(name="copilotkit", summary="CopilotKit's runtime wire", serve=_serve)
