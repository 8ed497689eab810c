"""Whether the audio of a live run passes through ADK's own code only, so that the audio bypass may skip it.

What an app can put in the way of audio in google-adk 2.13: a plugin with `on_event_callback`; its own
subclass of Runner, agent or flow; a planner or a code executor; a tool that takes a copy of the user's
input. Model and tool callbacks are not called for audio.

A method counts as ADK's own if it is defined in `google.adk`. A method that is missing counts as changed:
then the audio bypass is not used.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner

_ADK = "google.adk."
_RUNNER_METHODS = ("run_live", "_exec_with_plugin", "_process_and_append_event")
_AGENT_METHODS = ("run_live", "_run_live_impl", "_run_with_lifecycle")


def is_stock_runner(runner: Runner) -> bool:
    """Return whether a Runner passes its agents' events on as ADK's own class does."""
    return isinstance(runner.agent, BaseAgent) and _are_adks(type(runner), _RUNNER_METHODS)


def has_event_plugins(runner: Runner, known: Collection[str]) -> bool:
    """Return whether a plugin other than those `known` by name handles each event of a Runner."""
    others = (plugin for plugin in runner.plugin_manager.plugins if plugin.name not in known)
    return any(type(p).on_event_callback is not BasePlugin.on_event_callback for p in others)


def is_stock_agent(agent: BaseAgent) -> bool:
    """Return whether an agent passes its model's responses on unchanged."""
    if not _are_adks(type(agent), _AGENT_METHODS):
        return False
    if not isinstance(agent, LlmAgent):
        return True
    is_plain = agent.planner is None and agent.code_executor is None and not agent.output_key
    flow = getattr(LlmAgent, "_llm_flow", None)
    return is_plain and flow is not None and getattr(type(agent), "_llm_flow", None) is flow


def has_streaming_tool(request: LlmRequest) -> bool:
    """Return whether a tool may take a copy of what is sent to the model."""
    functions = (getattr(tool, "func", None) for tool in request.tools_dict.values())
    return any(inspect.isasyncgenfunction(function) for function in functions)


async def process_event(runner: Runner, event: Event, context: InvocationContext) -> Event:
    """Hand an event of a live run to the Runner's plugins, as ADK's own loop does; return the result."""
    return await runner._process_and_append_event(event, context, is_live_call=True)


def _are_adks(kind: type[object], names: Collection[str]) -> bool:
    methods = (getattr(kind, name, None) for name in names)
    return all((getattr(m, "__module__", None) or "").startswith(_ADK) for m in methods)


def probe() -> str | None:
    """Return None if ADK's own Runner and agent are recognised as such, else why not."""
    if not _are_adks(Runner, _RUNNER_METHODS):
        return f"google.adk.runners.Runner does not have {', '.join(_RUNNER_METHODS)}."
    if not _are_adks(LlmAgent, _AGENT_METHODS) or not hasattr(LlmAgent, "_llm_flow"):
        return f"LlmAgent does not have {', '.join(_AGENT_METHODS)}, _llm_flow."
    parameters = inspect.signature(Runner._process_and_append_event).parameters
    if list(parameters)[1:3] != ["event", "invocation_context"] or "is_live_call" not in parameters:
        return "Runner._process_and_append_event has other parameters."
    return None
