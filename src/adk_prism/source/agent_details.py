"""What an agent of an app is made of: instruction, model and tools with their schemas, by its name.

Read with google-adk's own description of tools, for every agent of the app, whatever its root is: ADK's
`app-info` describes only an `LlmAgent` and its sub-agents. A toolset may have to ask another server for its
tools; one that fails or is slow is named with `problem`, and the others are described.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_toolset import BaseToolset
from google.adk.utils.agent_info import get_tools_info
from google.adk.workflow import BaseNode

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.source.agents import model_of, walk_agents
from adk_prism.source.served_app import ServedApp

PATIENCE = 5.0
"""Seconds for the tools of one toolset: somebody looks at the page, and can look again."""


async def describe_agents(app: ServedApp, report: Report) -> dict[str, dict[str, Any]]:
    """Return the agents by name. Raise `UsageError` for a remote app whose server describes none."""
    if app.root is None:
        found = await app.details()
        return {
            name: _from_info(info.model_dump(exclude_none=True)) for name, info in found.items()
        }
    described = [node for node in walk_agents(app.root) if isinstance(node, LlmAgent)]
    return {agent.name: await _describe(agent, report) for agent in described}


def _from_info(info: Mapping[str, Any]) -> dict[str, Any]:
    tools = [each for tool in info["tools"] for each in tool.get("function_declarations", ())]
    return {"instruction": info["instruction"], "model": "", "tools": tools}


async def _describe(agent: LlmAgent, report: Report) -> dict[str, Any]:
    tools = [each for tool in agent.tools for each in await _tools(tool, report)]
    return {"instruction": _instruction(agent), "model": model_of(agent), "tools": tools}


def _instruction(agent: LlmAgent) -> str:
    given = agent.instruction
    if isinstance(given, str):
        return given
    # It may need the session's state, so that only a run knows the text.
    return f"<InstructionProvider: {getattr(given, '__name__', None) or type(given).__name__}>"


async def _tools(tool: Any, report: Report) -> list[dict[str, Any]]:
    try:
        async with asyncio.timeout(PATIENCE):
            found = await get_tools_info([tool])
    except Exception as error:  # The app's own code, and whatever it connects to.
        name = _name(tool)
        report(Diagnostic(kind="tools not described", detail=name, cause=cause_of(error)))
        return [{"name": name, "problem": "Its tools could not be read."}]
    declared = [each for one in found for each in one.function_declarations or ()]
    return [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in declared]


def _name(tool: Any) -> str:
    if isinstance(tool, BaseToolset | BaseNode):
        return type(tool).__name__
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__))
