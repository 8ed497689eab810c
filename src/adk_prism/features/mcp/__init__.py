"""Runs for coding agents: a transcript of a run, and an MCP server that finds, reads and repeats runs.

`transcript.py` is what `GET /api/runs/{run}/transcript` answers; `tools.py` are the tools, which ask a
running server over HTTP, so that its identity, limits, audit and redaction hold; `command.py` is `adk-prism
mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.mcp.routes import router

    return Served(routers=[router(context)])


EXTENSION = Extension(
    name="mcp",
    summary="an MCP server, so that coding agents can find, read and repeat runs",
    requires=("captures",),
    commands=(
        Command(
            "mcp",
            "serve the runs of a server to a coding agent (MCP over stdio)",
            "adk_prism.features.mcp.command",
        ),
        Command(
            "setup",
            "name that MCP server in the configuration of a coding agent's client",
            "adk_prism.features.mcp.setup",
        ),
    ),
    serve=_serve,
)
