"""Whether a live run goes through nothing but ADK's own code: only then does sound pass it unseen.

What an app may put in the way of sound, in google-adk 2.13: a plugin that is shown each event; a Runner, an
agent or a flow of its own; a planner or a code executor, which are shown what the model says; a tool that is
sent a copy of what the user says. Callbacks are not called for sound.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner

_ADK = "google.adk."
_OF_RUNNERS = ("run_live", "_exec_with_plugin", "_process_and_append_event")
_OF_AGENTS = ("run_live", "_run_live_impl", "_run_with_lifecycle")


def is_stock_runner(runner: Runner) -> bool:
    """Tell whether a Runner passes on what its agents say as ADK's own does."""
    is_agent = isinstance(runner.agent, BaseAgent)
    return is_agent and all(_is_adks(type(runner), name) for name in _OF_RUNNERS)


def has_event_plugins(runner: Runner, known: Collection[str]) -> bool:
    """Tell whether a plugin wants to be shown each event of a Runner, besides those `known` by name."""
    own = (plugin for plugin in runner.plugin_manager.plugins if plugin.name not in known)
    return any(type(p).on_event_callback is not BasePlugin.on_event_callback for p in own)


def is_stock_agent(agent: BaseAgent) -> bool:
    """Tell whether an agent passes on what its model says as it is."""
    if not all(_is_adks(type(agent), name) for name in _OF_AGENTS):
        return False
    if not isinstance(agent, LlmAgent):
        return True
    is_plain = agent.planner is None and agent.code_executor is None and not agent.output_key
    return is_plain and type(agent)._llm_flow is LlmAgent._llm_flow


def streams_input(request: LlmRequest) -> bool:
    """Tell whether a tool may ask for a copy of what is said to the model."""
    functions = (getattr(tool, "func", None) for tool in request.tools_dict.values())
    return any(inspect.isasyncgenfunction(function) for function in functions)


def _is_adks(kind: type[object], name: str) -> bool:
    """Tell whether a class has a method, as ADK wrote it."""
    method = getattr(kind, name, None)
    return (getattr(method, "__module__", None) or "").startswith(_ADK)
