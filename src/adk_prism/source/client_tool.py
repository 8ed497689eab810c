"""A tool that the client runs, for example the browser: the agent calls, the client answers.

In ADK terms it is a long-running tool that returns nothing: the run ends with the call unanswered,
and the client's function response continues the same invocation (google-adk 2.13,
`BaseTool.is_long_running`). The declaration carries the given JSON Schema as it is; nothing of the
tool runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel, TypeAdapter

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
