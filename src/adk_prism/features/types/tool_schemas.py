"""The tools of an app with the JSON schemas of what they take and return, for `adk-prism types`.

Arguments are what ADK declares to the model. Results have no declaration in most tools: there the return
annotation of the Python function is read, and ADK's `{"result": …}` put around what is no object.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from google.adk.agents.llm_agent import LlmAgent, ToolUnion
from google.adk.tools.function_tool import FunctionTool
from google.adk.utils.agent_info import get_tools_info
from google.adk.workflow import BaseNode
from google.genai.types import FunctionDeclaration, Schema
from msgspec import Struct
from pydantic import TypeAdapter
from typing_extensions import is_typeddict

from adk_prism.adk.agents import walk_agents

Json = dict[str, Any]


class ToolSchema(Struct, frozen=True):
    """One tool."""

    name: str
    description: str = ""
    input: Json = {}
    output: Json | None = None
    """None: the tool does not say."""


class UnreadTool(Struct, frozen=True):
    """A tool, or a set of tools, that could not be asked what it takes."""

    agent: str
    tool: str
    reason: str


async def tool_schemas(root: BaseNode) -> list[ToolSchema | UnreadTool]:
    """Return the tools of every agent, in the order in which they are declared.

    A toolset is asked for its tools, which may open connections; one that fails is an `UnreadTool`.
    """
    found: list[ToolSchema | UnreadTool] = []
    for agent in walk_agents(root):
        for tool in agent.tools if isinstance(agent, LlmAgent) else ():
            try:
                found += [schema async for schema in _read(tool)]
            except (
                Exception
            ) as error:  # the app's own code: the tool is named, and the others are read
                name = getattr(tool, "name", type(tool).__name__)
                found.append(UnreadTool(agent.name, str(name), f"{type(error).__name__}: {error}"))
    return found


async def _read(tool: ToolUnion) -> AsyncIterator[ToolSchema]:
    for declared in await get_tools_info([tool]):
        for declaration in declared.function_declarations or ():
            yield _schema(declaration, _function(tool))


def _schema(declaration: FunctionDeclaration, function: Any) -> ToolSchema:
    output = _json(declaration.response_json_schema, declaration.response)
    return ToolSchema(
        name=declaration.name or "",
        description=declaration.description or "",
        input=_json(declaration.parameters_json_schema, declaration.parameters) or {},
        output=output or (_returned(function) if function is not None else None),
    )


def _json(schema: Any, typed: Schema | None) -> Json | None:
    """Return a schema that was declared in either of google-genai's ways."""
    if typed is not None:
        return typed.model_dump(mode="json", by_alias=True, exclude_none=True)
    return schema if isinstance(schema, dict) else None


def _function(tool: ToolUnion) -> Any:
    if isinstance(tool, FunctionTool):
        return tool.func
    return tool if inspect.isroutine(tool) else None


def _returned(function: Any) -> Json | None:
    """Return the schema of a function's results, as ADK passes them on; None if it does not say."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return None
    try:
        hint = get_type_hints(function).get("return", Any)
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        schemas = [_passed_on(member) for member in members]
    except Exception:  # an annotation that cannot be resolved or described says nothing
        return None
    if None in schemas:
        return None
    # Definitions of all members, where references look for them: at the top.
    defs = {
        name: each for schema in schemas if schema for name, each in schema.pop("$defs").items()
    }
    return {"anyOf": schemas, "$defs": defs}


def _passed_on(hint: Any) -> Json | None:
    """Return the schema of one type of result: a dict as it is, anything else as `result`."""
    if hint is Any:
        return None
    schema = TypeAdapter(hint).json_schema(mode="serialization")
    defs = schema.pop("$defs", {})
    kind = get_origin(hint) or hint
    if is_typeddict(hint) or (isinstance(kind, type) and issubclass(kind, dict)):
        return {**schema, "$defs": defs}
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {**wrapped, "$defs": defs}
