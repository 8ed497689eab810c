"""An app with another model or other instructions, for a run that is run again.

The app that the server serves is not touched: its agents are copied (`agent_copies`), and a Runner of its own
runs the copy, with the same services and plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Literal

from google.adk.agents.llm_agent import LlmAgent
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.workflow import BaseNode
from msgspec import Struct

from adk_prism.errors import TooLarge, Unprocessable
from adk_prism.source.agents import walk_agents
from adk_prism.source.plugin import NAME
from adk_prism.source.rerun.agent_copies import copy_agents

LARGEST_INSTRUCTION = 1024**2
"""Characters of an instruction: more than the context of most models."""
MOST_NAMES = 30
"""Agents that a refusal lists."""

Tools = Literal["recorded", "live"]
"""Whether tools are answered from the recording, or called."""


class Changes(Struct, frozen=True, kw_only=True):
    """What is different when a run is run again."""

    model: str = ""
    """Empty: each agent asks its own."""
    instructions: Mapping[str, str] = {}
    """By the name of the agent."""
    tools: Tools = "recorded"


def changed_runner(runner: Runner, changes: Changes) -> Runner:
    """Return a Runner of the app with the changes.

    Raise `Unprocessable` for an agent or a model that there is not, or an app that cannot be run so;
    `TooLarge` for an instruction.
    """
    agents = [node for node in walk_agents(runner.agent) if isinstance(node, LlmAgent)]
    _check_instructions(agents, changes)
    if changes.tools == "recorded":
        _check_recordable(walk_agents(runner.agent))
    model = _model(agents, changes.model) if changes.model else None

    def change(agent: LlmAgent) -> dict[str, Any]:
        update: dict[str, Any] = {} if model is None else {"model": model}
        if agent.name in changes.instructions:
            update["instruction"] = changes.instructions[agent.name]
        return update

    return _with_root(runner, copy_agents(runner.agent, change))


def _with_root(runner: Runner, root: BaseNode) -> Runner:
    changed = copy(runner)
    changed.agent = root
    changed.app = runner.app.model_copy(update={"root_agent": root})
    # Our own plugin knows the root, so that the copy gets another one.
    plugins = [each for each in runner.plugin_manager.plugins if each.name != NAME]
    changed.plugin_manager = PluginManager(plugins=plugins)
    return changed


def _check_instructions(agents: Sequence[LlmAgent], changes: Changes) -> None:
    names = [agent.name for agent in agents]
    for name, text in changes.instructions.items():
        if name not in names:
            known = ", ".join(dict.fromkeys(names[:MOST_NAMES])) or "none"
            raise Unprocessable(
                f"The app has no agent {name[:60]!r} with an instruction. Its agents are: {known}."
            )
        if names.count(name) > 1:
            raise Unprocessable(
                f"The app has {names.count(name)} agents named {name[:60]!r}; which one is meant is unclear."
            )
        if len(text) > LARGEST_INSTRUCTION:
            raise TooLarge(
                f"The instruction of {name[:60]!r} has {len(text)} characters; at most"
                f" {LARGEST_INSTRUCTION} are allowed."
            )


def _check_recordable(nodes: Iterable[BaseNode]) -> None:
    """Refuse agents that act without tools: what they do has no recording to be answered from."""
    for node in nodes:
        executor = node.code_executor if isinstance(node, LlmAgent) else None
        if executor is not None and not isinstance(executor, BuiltInCodeExecutor):
            raise _acts(node, f"executes code ({type(executor).__name__})")
        # By name: to import the class takes packages that most installations do not have.
        if any(each.__name__ == "RemoteA2aAgent" for each in type(node).__mro__):
            raise _acts(node, "runs on another server")


def _acts(node: BaseNode, how: str) -> Unprocessable:
    return Unprocessable(
        f"The agent {node.name!r} {how}, which is not answered from a recording. Run it with live tools."
    )


def _model(agents: Sequence[LlmAgent], name: str) -> str | BaseLlm:
    """Return the model of that name: one of the app's own objects, or a name that ADK knows."""
    for agent in agents:
        if isinstance(agent.model, BaseLlm) and agent.model.model == name:
            return agent.model
    try:
        LLMRegistry.resolve(name)
    except Exception as error:  # ADK raises ValueError; the class of a model may raise anything.
        own = {each.model.model for each in agents if isinstance(each.model, BaseLlm)}
        hint = f" The app's own: {', '.join(sorted(own)[:MOST_NAMES])}." if own else ""
        raise Unprocessable(f"ADK knows no model {name[:100]!r}.{hint}") from error
    return name
