"""Runs for coding agents: a transcript of a run, and an MCP server that finds, reads and repeats runs.

`transcript.py` is what `GET /api/runs/{run}/transcript` answers; `tools.py` are the tools, which ask a
running server over HTTP, so that its identity, limits, audit and redaction hold; `command.py` is `adk-prism
mcp`, which offers them over standard input and output, `over_http.py` the server's own `POST /mcp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Command, Extension, Served
from adk_prism.options import FLAG, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class McpSettings(FeatureSettings):
    """What coding agents may do."""

    title: ClassVar[str] = "MCP"
    mcp_allow_run: bool = FLAG.option(
        "offer tools at /mcp that run agents, too: send a message, fork, run again, add an eval case"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.mcp import over_http

    allow_run = context.settings.of(McpSettings).mcp_allow_run
    routers = [over_http.transcripts(context), over_http.router(context, allow_run=allow_run)]
    return Served(routers=routers)


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
    settings=lambda: McpSettings,
)
