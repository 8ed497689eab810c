"""Tools that a client brings with its request: the front end declares them, and runs them.

    from adk_prism import client_tools

    app = App(name="support", root_agent=agent, plugins=[client_tools("request")])

A folder's app that is a bare `root_agent` says it in a variable of its module: `client_tools = "request"`.

Chat front ends such as assistant-ui post the tools of the page with every message. An app that declares the
plugin gives them to the model of each of its agents, for that run, as `client_tool`s; the agents' code has
no toolset for it. Without the plugin they are ignored. Agents inside an `AgentTool` do not get them: their
calls reach no client (they run under another invocation).

A client may bring tools, and may not take the place of any: the names of the app's own tools and agents and
those that ADK reserves are refused. Where a toolset turns out to have a tool of the same name, it wins.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import msgspec
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool

from adk_prism.errors import Unprocessable
from adk_prism.runlog.entry import BroughtTool, to_raw
from adk_prism.source.agents import walk_agents
from adk_prism.source.client_tool import client_tool
from adk_prism.source.unanswered_calls import with_interim_results

MOST_TOOLS = 64
"""In one request: models choose badly among more, and a page has a dozen."""
LARGEST_TOOL = 16 * 1024
"""Bytes of one tool's name, description and schema: ten times a long one's."""
LARGEST_ALL = 128 * 1024
"""Bytes of all of them: they are in the run's first record, and in every request to the model."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""What Gemini takes for the name of a function."""
RESERVED = frozenset({"transfer_to_agent", "finish_task", "set_model_response"})
"""ADK's own tools, which it recognises by name (google-adk 2.13)."""


class ClientTools(BasePlugin):
    """The declaration, and what gives the tools to the models."""

    def __init__(self) -> None:
        super().__init__(name="adk_prism_client_tools")
        self._brought: dict[str, Sequence[BaseTool]] = {}
        """By invocation, while it runs."""

    @contextmanager
    def brought(self, invocation: str, tools: Sequence[BroughtTool]) -> Iterator[None]:
        """Offer some tools to the agents of an invocation."""
        self._brought[invocation] = [_as_tool(tool) for tool in tools]
        try:
            yield
        finally:
            self._brought.pop(invocation, None)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Add the invocation's tools to a request, those apart whose names are taken."""
        tools = self._brought.get(callback_context.invocation_id, ())
        llm_request.append_tools([t for t in tools if t.name not in llm_request.tools_dict])
        llm_request.contents = with_interim_results(llm_request.contents, llm_request.tools_dict)


def client_tools(source: Literal["request"]) -> BasePlugin:
    """Return the plugin that lets clients bring tools of their own with a request."""
    if source != "request":
        raise ValueError(f'client_tools must be "request", got {source!r}.')
    return ClientTools()


def declared_tools(runner: Runner) -> ClientTools | None:
    """Return the declaration of the Runner's app; None if it has none."""
    plugins = runner.plugin_manager.plugins
    return next((each for each in plugins if isinstance(each, ClientTools)), None)


def is_declared(plugins: Iterable[BasePlugin]) -> bool:
    """Return whether the plugin is among an app's own."""
    return any(isinstance(each, ClientTools) for each in plugins)


def module_declaration(app: str) -> list[BasePlugin]:
    """Return the plugin for an app of a folder whose module has `client_tools = "request"`."""
    modules = (sys.modules.get(name) for name in (f"{app}.agent", app))
    declared = any(getattr(module, "client_tools", None) == "request" for module in modules)
    return [ClientTools()] if declared else []


def read_tools(runner: Runner, given: Any) -> list[BroughtTool]:
    """Read a request's tools, `{name: {description?, parameters?}}`. Raise `Unprocessable`."""
    if not isinstance(given, Mapping):
        raise Unprocessable("`tools` must be an object: {name: {description, parameters}}.")
    if len(given) > MOST_TOOLS:
        raise Unprocessable(
            f"The request has {len(given)} tools; at most {MOST_TOOLS} are allowed."
        )
    taken = _taken_names(runner) if given else frozenset()
    tools = [_read_tool(name, value, taken) for name, value in given.items()]
    if sum(map(_size, tools)) > LARGEST_ALL:
        raise Unprocessable(f"The request's tools are larger than {LARGEST_ALL} bytes together.")
    return tools


def _read_tool(name: str, given: Any, taken: frozenset[str]) -> BroughtTool:
    if _NAME.fullmatch(name) is None:
        raise Unprocessable(
            f"A tool cannot be named {name[:60]!r}: up to 64 letters, digits, `_`, `.` and `-`."
        )
    if name in taken or name in RESERVED or name.startswith("adk_"):
        raise Unprocessable(
            f"The name {name!r} is already used by the app or by ADK; choose another one."
        )
    if not isinstance(given, Mapping):
        raise Unprocessable(f"The tool {name!r} must be an object: {{description, parameters}}.")
    description, parameters = given.get("description") or "", given.get("parameters")
    if not isinstance(description, str) or not isinstance(parameters, Mapping | None):
        raise Unprocessable(
            f"The tool {name!r} must have a string `description` and an object `parameters`."
        )
    tool = BroughtTool(name=name, description=description, parameters=to_raw(parameters or _NONE))
    if _size(tool) > LARGEST_TOOL:
        raise Unprocessable(f"The tool {name!r} is larger than {LARGEST_TOOL} bytes.")
    try:
        _as_tool(tool)
    except ValueError as error:
        raise Unprocessable(str(error)) from None
    return tool


_NONE: Mapping[str, Any] = {"type": "object", "properties": {}}


def _as_tool(tool: BroughtTool) -> BaseTool:
    return client_tool(tool.name, tool.description, msgspec.json.decode(tool.parameters))


def _size(tool: BroughtTool) -> int:
    return len(tool.name) + len(tool.description) + len(bytes(tool.parameters))


def _taken_names(runner: Runner) -> frozenset[str]:
    """Return the names of the app's agents, and of their tools as far as they are known by now."""
    names: set[str] = set()
    for node in walk_agents(runner.agent):
        names.add(node.name)
        tools = node.tools if isinstance(node, LlmAgent) else []
        names.update(name for tool in tools if (name := _name_of(tool)))
    return frozenset(names)


def _name_of(tool: BaseTool | Callable[..., Any] | object) -> str:
    named = getattr(tool, "name", None) or getattr(tool, "__name__", "")
    return named if isinstance(named, str) else ""
