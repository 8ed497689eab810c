"""`adk-prism types APP`: TypeScript types of an app's own tools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from pydantic import BaseModel
from typing_extensions import TypedDict

from adk_prism.cli import main
from adk_prism.features.types.tool_schemas import ToolSchema, UnreadTool, tool_schemas
from adk_prism.features.types.typescript import (
    MOST_LEVELS,
    typescript,
)
from adk_prism.features.types.typescript import (
    tool_declarations as declarations,
)

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from tests.conftest import Node

Json = dict[str, Any]
TREE: Json = {
    "$ref": "#/$defs/Tree",
    "$defs": {"Tree": {"type": "object", "properties": {"up": {"$ref": "#/$defs/Tree"}}}},
}

TYPES: list[tuple[Json, str]] = [
    ({}, "unknown"),
    ({"type": "integer"}, "number"),
    ({"type": "STRING", "nullable": True}, "string | null"),
    ({"type": ["string", "null"]}, "string | null"),
    ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
    ({"const": "x"}, '"x"'),
    ({"type": "array", "items": {"type": "boolean"}}, "boolean[]"),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
    ({"type": "array"}, "unknown[]"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
    ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
    ({"allOf": [{"type": "string"}, {"type": "number"}]}, "string & number"),
    ({"type": "object"}, "{ [key: string]: unknown }"),
    (
        {"type": "object", "additionalProperties": {"type": "number"}},
        "{ [key: string]: number }",
    ),
    (
        {"properties": {"a-b": {"type": "string"}, "c": {}}, "required": ["c"]},
        '{ "a-b"?: string; "c": unknown }',
    ),
    ({"$ref": "#/$defs/Missing"}, "unknown"),
    ({"type": "telegram"}, "unknown"),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES, ids=[json.dumps(t[0]) for t in TYPES])
def test_a_schema_as_a_type(schema: Json, expected: str) -> None:
    assert typescript(schema) == expected


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert typescript(TREE).count("up") < MOST_LEVELS


class Place(BaseModel):
    """Where something is."""

    name: str
    near: str | None = None


class Found(TypedDict):
    """What was found."""

    count: int


def find(place: Place, mode: Literal["fast", "good"] = "fast") -> Found:
    """Find a place."""
    raise NotImplementedError


def locate(name: str) -> Place | None:
    """Say where a place is. */ Really."""
    raise NotImplementedError


async def watch(name: str) -> AsyncGenerator[str, None]:
    """Watch a place."""
    yield name


def guess(name):  # type: ignore[no-untyped-def]  # as an app may have it
    """Say anything."""


class Away(BaseToolset):
    """Tools of a server that is not there."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Fail as a connection does."""
        del readonly_context
        raise ConnectionRefusedError("nobody listens")


async def test_tools_say_what_they_take_and_return() -> None:
    """A dict is returned as it is, anything else under `result`; tools that cannot be read are named."""
    agent = LlmAgent(name="guide", tools=[find, locate, watch, guess, Away()])
    found = await tool_schemas(agent)
    read = [each for each in found if isinstance(each, ToolSchema)]
    types = declarations("my-guide", [(t.name, t.description, t.input, t.output) for t in read])
    place = '{ "name": string; "near"?: string | null }'
    assert f'"find": {{ input: {{ "place": {place}; "mode"?: "fast" | "good" }}; ' in types
    assert 'output: { "count": number } };' in types
    result = '{ "result": { "name": string; "near": string | null } } | { "result": null }'
    assert f'"locate": {{ input: {{ "name": string }}; output: {result} }};' in types.replace(
        '"near"?', '"near"'
    )
    assert '"watch": { input: { "name": string }; output: unknown };' in types
    assert '"guess"' in types
    assert "export type MyGuideUIMessage = PrismUIMessage<MyGuideTools>;" in types
    [unread] = [each for each in found if isinstance(each, UnreadTool)]
    assert (unread.agent, unread.reason) == ("guide", "ConnectionRefusedError: nobody listens")


USE = """\
import type { TourUIMessage } from './prism';

export function show(message: TourUIMessage): string {
  for (const part of message.parts) {
    if (part.type === 'tool-get_weather' && part.state === 'output-available') return part.input.city;
    // @ts-expect-error there is no such tool
    if (part.type === 'tool-telegram') return '';
  }
  return '';
}
"""


def test_the_tour_compiles(node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command's output is a module of its own, which `useChat` takes."""
    assert main(["types", "tour"]) == 0
    (tmp_path / "prism.ts").write_text(capsys.readouterr().out)
    (tmp_path / "use.ts").write_text(USE)
    options = {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "module": "preserve",
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "paths": {"ai": [str(node.folder / "node_modules" / "ai-7" / "dist" / "index.d.ts")]},
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    compiler = node.folder / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([node.binary, compiler, "-p", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_an_unknown_app_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["types", "nowhere"]) == 2
    assert "There is no app 'nowhere'. Available apps: " in capsys.readouterr().err
