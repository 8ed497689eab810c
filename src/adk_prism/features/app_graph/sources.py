"""Where the code of an app's agents and tools stands: file and line.

A function stands where it is defined. An agent, and a tool that is an object, stands where a module gives it
its name; without a name, where the app's folder has a call with `name="…"`. Only the app's own code is named:
for what a library made, and for what is not found, there is no place.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from pathlib import Path
from typing import Any, Literal

from google.adk.tools import BaseTool, FunctionTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode

from adk_prism.adk.agents import node_of_tool, walk_agents
from adk_prism.adk.errors import is_own

MOST_FILES, LARGEST_FILE = 200, 2**20
"""Files of a folder that are read, and bytes of one of them."""


def sources_of(root: BaseNode, folder: Path | None) -> dict[str, dict[str, Any]]:
    """Return the place of each agent and of its tools, as `file:line`, by name. Call it in a thread."""
    sources = _Sources(folder)
    return {
        node.name: {"source": sources.of_node(node), "tools": sources.of_tools(node)}
        for node in walk_agents(root)
    }


def describe_tool(tool: object) -> tuple[str, Literal["tool", "toolset"], str]:
    """Return a tool's name, kind and description. What a toolset offers is known when it runs."""
    if isinstance(tool, BaseTool):
        return tool.name, "tool", tool.description or ""
    if isinstance(tool, BaseToolset):
        return type(tool).__name__, "toolset", ""
    name = getattr(tool, "__name__", type(tool).__name__)
    return name, "tool", getattr(tool, "__doc__", None) or ""


class _Sources:
    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._trees: dict[str, ast.Module] = {}

    def of_node(self, node: BaseNode) -> str:
        return self._named(node) or self._calls.get(node.name, "")

    def of_tools(self, node: BaseNode) -> dict[str, str]:
        tools = [tool for tool in getattr(node, "tools", ()) if node_of_tool(tool) is None]
        return {describe_tool(tool)[0]: self._of_tool(tool) for tool in tools}

    def _of_tool(self, tool: object) -> str:
        if isinstance(tool, BaseTool | BaseToolset):
            function = tool.func if isinstance(tool, FunctionTool) else None
            return _of_function(function) or self._named(tool) or self._of_class(type(tool))
        return _of_function(tool)

    def _of_class(self, given: type) -> str:
        file = getattr(sys.modules.get(given.__module__), "__file__", None) or ""
        return self._line(file, given.__name__) if is_own(file) else ""

    def _named(self, value: object) -> str:
        """Return where a module gives a value its name; a module that imports it does not."""
        lines = (self._line(file, name) for file, name in self._names.get(id(value), ()))
        return next(filter(None, lines), "")

    @functools.cached_property
    def _names(self) -> dict[int, list[tuple[str, str]]]:
        """Files and names of what modules of the app's own code hold, by object."""
        found: dict[int, list[tuple[str, str]]] = {}
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and is_own(file):
                for name, value in list(vars(module).items()):
                    if isinstance(value, BaseNode | BaseTool | BaseToolset):
                        found.setdefault(id(value), []).append((file, name))
        return found

    @functools.cached_property
    def _calls(self) -> dict[str, str]:
        """Places of calls with a name, such as `LlmAgent(name="brief")`, in the app's folder."""
        files = sorted(self._folder.rglob("*.py"))[:MOST_FILES] if self._folder else []
        found: dict[str, str] = {}
        for file in map(str, files):
            for node in ast.walk(self._tree(file)):
                if isinstance(node, ast.Call) and (name := _name_in(node)):
                    found.setdefault(name, _place(file, node.lineno))
        return found

    def _line(self, file: str, name: str) -> str:
        found = [each.lineno for each in self._tree(file).body if name in _defined(each)]
        return _place(file, found[-1]) if found else ""

    def _tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = _parsed(Path(file))
        return self._trees[file]


def _parsed(file: Path) -> ast.Module:
    try:
        if file.stat().st_size <= LARGEST_FILE:
            return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        pass  # Removed or broken since it was loaded: there is no place.
    return ast.Module([], [])


def _name_in(call: ast.Call) -> str:
    """Return the name that a call gives what it makes."""
    values = (keyword.value for keyword in call.keywords if keyword.arg == "name")
    texts = (each.value for each in values if isinstance(each, ast.Constant))
    return next((text for text in texts if isinstance(text, str)), "")


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.ClassDef(name=name):
            return [name]
        case _:
            return []


def _of_function(given: Any) -> str:
    while isinstance(given, functools.partial):
        given = given.func
    try:
        code = getattr(inspect.unwrap(given), "__code__", None)
    except (TypeError, ValueError):  # no function, or one that wraps itself
        return ""
    if code is None or not is_own(code.co_filename):
        return ""
    return _place(code.co_filename, code.co_firstlineno)


def _place(file: str, line: int) -> str:
    return f"{file}:{line}"
