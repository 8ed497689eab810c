"""What ADK's server says of an app."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
from google.adk.workflow import BaseNode

from adk_prism.server.adk.adk_models import AppInfo
from adk_prism.source.adk.agent_attributes import origin_folder
from adk_prism.source.served_app import ServedApp


def describe_app(name: str, app: ServedApp) -> AppInfo:
    """Return what `/list-apps?detailed=true` says of an app."""
    tools = getattr(app.root, "tools", ())
    return AppInfo(
        name=name,
        root_agent_name=app.root_name,
        description=app.description,
        language=_language(app.root),
        is_computer_use=any(isinstance(tool, ComputerUseToolset) for tool in tools),
    )


def folder_of(root: BaseNode | None) -> Path | None:
    """Return the folder of an app; None for a Runner that was built in Python, and for code elsewhere."""
    return origin_folder(root) if root is not None else None


def _language(root: BaseNode | None) -> Literal["yaml", "python"]:
    folder = folder_of(root)
    return "yaml" if folder is not None and (folder / "root_agent.yaml").is_file() else "python"
