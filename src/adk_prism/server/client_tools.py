"""Tools and instructions that a request brings along: used where the app allows it, else a warning.

An app lets clients bring tools with `client_tools("request")` (`adk_prism.source.client_tools`). What the
agent is instructed to do is up to the app: system messages and `system` of a body never reach the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_prism.commands import ClientRequest
from adk_prism.runlog.entry import BroughtTool, Warned
from adk_prism.source.apps import Apps
from adk_prism.source.client_tools import read_tools

SHOWN = 5
"""Names of tools in a warning."""


def tools_of_request(
    apps: Apps, app: str, asked: ClientRequest
) -> tuple[list[BroughtTool], list[Warned]]:
    """Return the tools that a request brings, and warnings about what of it is ignored.

    Raise `Unprocessable` for tools that cannot be used.
    """
    warnings = [_SYSTEM] if asked.has_instructions else []
    if not asked.tools:
        return [], warnings
    if "client tools" in apps.app(app).lacks:
        return [], [*warnings, _tools_ignored(asked.tools)]
    return read_tools(apps.runner(app, "client tools"), asked.tools), warnings


_SYSTEM = Warned(
    code="system-ignored",
    text="The system message was ignored: only the app sets the instructions of its agents.",
)


def _tools_ignored(tools: Any) -> Warned:
    names = [str(name)[:40] for name in tools] if isinstance(tools, Mapping) else []
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    return Warned(
        code="tools-ignored",
        text=f"The request's tools were ignored ({shown or 'not an object'}): this app takes none from "
        'clients. It does with the plugin client_tools("request").',
    )
