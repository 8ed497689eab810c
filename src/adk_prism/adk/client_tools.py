"""Tools that a client brings with its request: the front end declares them, and runs them.

    from adk_prism import accept_client_tools

    app = App(name="support", root_agent=agent, plugins=[accept_client_tools("request")])

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
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

import msgspec
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools import BaseTool, ToolContext
from google.genai import types
from pydantic import BaseModel, TypeAdapter

from adk_prism.adk.agents import walk_agents
from adk_prism.adk.tools import module_values
from adk_prism.errors import Unprocessable
from adk_prism.log.entry import BroughtTool, to_raw

# ---------------------------------------------------------------------------
# A tool that the client runs, for example the browser: the agent calls, the client answers.
#
# In ADK terms it is a long-running tool that returns nothing: the run ends with the call unanswered,
# and the client's function response continues the same invocation (google-adk 2.13,
# `BaseTool.is_long_running`). The declaration carries the given JSON Schema as it is; nothing of the
# tool runs here.

Parameters = Mapping[str, Any] | type[BaseModel] | Callable[..., Any]

_NOTE = "The person's device runs this. Call it once and wait for the result."
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


def client_tool(name: str, description: str = "", parameters: Parameters | None = None) -> BaseTool:
    """Return an ADK tool that the client runs.

    `parameters` is a JSON Schema of an object, a pydantic model, or a Python function whose
    signature is read and which is never called; without a description its docstring serves.
    Raises ValueError when the schema is not that of an object.
    """
    if not description and parameters is not None and not isinstance(parameters, Mapping):
        description = (parameters.__doc__ or "").strip()
    schema = _schema_of(parameters)
    if schema.get("type") != "object":
        raise ValueError(
            f"The parameters of client tool {name!r} must be a JSON Schema of type 'object', "
            f"not {schema.get('type')!r}. Wrap a single value in an object with one property."
        )
    return _ClientTool(name, description, schema)


def is_client_tool(tool: BaseTool) -> bool:
    """Return whether the client runs a tool."""
    return isinstance(tool, _ClientTool)


def _schema_of(parameters: Parameters | None) -> Mapping[str, Any]:
    if parameters is None:
        return _NO_PARAMETERS
    if isinstance(parameters, Mapping):
        return parameters
    if isinstance(parameters, type) and issubclass(parameters, BaseModel):
        return parameters.model_json_schema()
    signature: TypeAdapter[Any] = TypeAdapter(cast("Any", parameters))
    return signature.json_schema()


class _ClientTool(BaseTool):
    def __init__(self, name: str, description: str, schema: Mapping[str, Any]) -> None:
        super().__init__(
            name=name, description=f"{description} {_NOTE}".strip(), is_long_running=True
        )
        self._schema = schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=dict(self._schema)
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Leave the call open: the answer comes from the client."""


# ---------------------------------------------------------------------------
# Which state keys an app lets clients write: declared by a plugin of the app.
#
#     from adk_prism import accept_client_state
#
#     app = App(name="research", root_agent=agent, plugins=[accept_client_state("grounding:user_approval")])
#
# A plugin, because an ADK App passes its plugins to every Runner; it has no hook, so with any other
# server the app behaves as without it. Without a declaration, a client may write its session's own
# keys.


class ClientState(BasePlugin):
    """The declaration."""

    def __init__(self, keys: frozenset[str]) -> None:
        super().__init__(name="adk_prism_client_state")
        self.keys = keys


def accept_client_state(*keys: str) -> BasePlugin:
    """Return the plugin that lets clients write these keys of the state, and no others."""
    return ClientState(frozenset(keys))


def declared_keys(runner: Runner) -> frozenset[str] | None:
    """Return the keys that the Runner's app lets clients write; None if it does not say."""
    declared = [each for each in runner.plugin_manager.plugins if isinstance(each, ClientState)]
    return frozenset().union(*(each.keys for each in declared)) if declared else None


# ---------------------------------------------------------------------------
# Calls of long-running tools without a result in what a model is sent: each gets an interim one.
#
# A tool of the client's, which is long-running for ADK, may have no result yet when the user sends
# another message. Models refuse a request in which a call has no result (Gemini and OpenAI answer
# 400), and ADK sends it so. The session is left as it is: a result that comes late is the call's only
# one.

PENDING = {
    "status": "pending",
    "message": "There is no result yet; the user has gone on without it.",
}


def with_interim_results(
    contents: list[types.Content], tools: Mapping[str, BaseTool]
) -> list[types.Content]:
    """Return contents in which each call of a long-running tool before the last content has a result.

    Return the same list if all have.
    """
    late = {name for name, tool in tools.items() if tool.is_long_running}
    if not late:
        return contents
    answered: list[types.Content] = []
    is_changed = False
    for at, content in enumerate(contents):
        answered.append(content)
        missing = _missing(contents, at, late) if at + 1 < len(contents) else []
        if missing:
            is_changed = True
            answered.append(types.Content(role="user", parts=[_pending(call) for call in missing]))
    return _joined(answered) if is_changed else contents


def _missing(
    contents: list[types.Content], at: int, late: Collection[str]
) -> list[types.FunctionCall]:
    """Return the calls of these tools in a content that no result right after it is for."""
    made = (part.function_call for part in contents[at].parts or ())
    calls = [call for call in made if call is not None and call.name in late]
    if not calls:
        return []
    results: Counter[str] = Counter()
    for content in contents[at + 1 :]:
        found = [p.function_response for p in content.parts or () if p.function_response]
        if not found:
            break
        results.update(_key(result) for result in found)
    missing = []
    for call in calls:
        if results[_key(call)] > 0:
            results[_key(call)] -= 1
        else:
            missing.append(call)
    return missing


def _key(given: types.FunctionCall | types.FunctionResponse) -> str:
    """Return what a call and its result have in common: ADK removes the ids that it made itself."""
    return f"id {given.id}" if given.id else f"name {given.name}"


def _pending(call: types.FunctionCall) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=call.id, name=call.name, response=PENDING)
    )


def _joined(contents: list[types.Content]) -> list[types.Content]:
    """Join results that follow each other: models take those of one content's calls together."""
    found: list[types.Content] = []
    for content in contents:
        if found and _are_results(found[-1]) and _are_results(content):
            parts = [*(found[-1].parts or ()), *(content.parts or ())]
            found[-1] = types.Content(role="user", parts=parts)
        else:
            found.append(content)
    return found


def _are_results(content: types.Content) -> bool:
    return bool(content.parts) and all(part.function_response for part in content.parts or ())


# ---------------------------------------------------------------------------

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


def accept_client_tools(source: Literal["request"] = "request") -> BasePlugin:
    """Return the plugin that lets clients bring tools of their own with a request."""
    if source != "request":
        raise ValueError(f'accept_client_tools takes "request", got {source!r}.')
    return ClientTools()


def declared_tools(runner: Runner) -> ClientTools | None:
    """Return the declaration of the Runner's app; None if it has none."""
    plugins = runner.plugin_manager.plugins
    return next((each for each in plugins if isinstance(each, ClientTools)), None)


def module_declaration(app: str, own: Iterable[BasePlugin]) -> list[BasePlugin]:
    """Return the plugin for an app of a folder whose module has `client_tools = "request"`.

    None is needed if it is among the app's own plugins.
    """
    is_declared = "request" in module_values(app, "client_tools")
    has_own = any(isinstance(each, ClientTools) for each in own)
    return [ClientTools()] if is_declared and not has_own else []


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
