"""What ADK's server says of an app, read from its Runner."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from google.adk.runners import Runner
from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
from google.adk.workflow import BaseNode

from adk_prism.server.adk.adk_models import AppInfo
from adk_prism.source.adk.agent_attributes import origin_folder


def describe_app(name: str, runner: Runner) -> AppInfo:
    """Return what `/list-apps?detailed=true` says of an app."""
    root = root_of(runner)
    tools = getattr(root, "tools", ())
    return AppInfo(
        name=name,
        root_agent_name=root.name,
        description=root.description,
        language=_language(root),
        is_computer_use=any(isinstance(tool, ComputerUseToolset) for tool in tools),
    )


def root_of(runner: Runner) -> BaseNode:
    """Return the agent or workflow that the Runner runs."""
    return runner.agent


def folder_of(root: BaseNode) -> Path | None:
    """Return the folder of an app; None for a Runner that was built in Python."""
    return origin_folder(root)


def _language(root: BaseNode) -> Literal["yaml", "python"]:
    folder = folder_of(root)
    return "yaml" if folder is not None and (folder / "root_agent.yaml").is_file() else "python"
