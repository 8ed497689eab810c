"""TypeScript types for `useChat<PrismUIMessage>`, written from the tables of parts and metadata.

Upstream's own structures (google-genai 2.34) are spelled out in `prism.ts`, camelCase as on the wire; the
compiler checks them against real frames in a test.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adk_prism.cli import AGENTS_DIR, FAILURE, DiagnosticPrinter, note
from adk_prism.cli.terminal import progress
from adk_prism.errors import UsageError
from adk_prism.features.types.data_parts import METADATA_KEYS, SENT, TAKEN

_FIXED = Path(__file__).with_name("prism.ts")
"""The types that no table of ours gives: JSON, and upstream's structures."""

_TAIL = """\
/** A message of a chat with adk-prism; name your tools to have their parts typed as well. */
export type PrismUIMessage<TOOLS extends UITools = UITools> =
  UIMessage<PrismMetadata, PrismDataParts, TOOLS>;
"""


def declarations() -> str:
    """Return the TypeScript module."""
    fixed = _FIXED.read_text(encoding="utf-8")
    return "\n".join((fixed, _metadata(), _data_parts(), _TAIL))


def _metadata() -> str:
    return _type(
        "PrismMetadata",
        "What `message.metadata` holds; all but `runId` and `createdAt` comes with the message's end.",
        (
            (name if key.always else f"{name}?", key.shape, key.doc)
            for name, key in METADATA_KEYS.items()
        ),
    )


def _data_parts() -> str:
    return _type(
        "PrismDataParts",
        "What the parts `data-<name>` hold, by name.",
        (
            (f"'{name}'", part.shape, f"{part.doc} Transient." if part.transient else part.doc)
            for name, part in (SENT | TAKEN).items()
        ),
    )


def _type(name: str, doc: str, members: Iterator[tuple[str, str, str]]) -> str:
    lines = [f"/** {doc} */", f"export type {name} = {{"]
    for member, shape, text in members:
        lines += [f"  /** {text} */", f"  {member}: {shape};"]
    return "\n".join((*lines, "};", ""))


# ---------------------------------------------------------------------------
# TypeScript types of an app's tools, from JSON schemas: for `useChat<MyAppUIMessage>`.
#
# What a schema does not say is `unknown`; keywords that TypeScript cannot express (a pattern, a
# range) are left out. A schema that refers to itself ends in `unknown`, too.

Json = Mapping[str, Any]

UNKNOWN = "unknown"
MOST_LEVELS = 12
"""Levels of a type: more nobody reads, and a schema may refer to itself."""

_PLAIN = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_UNSPOKEN = ("", "type_unspecified")


def tool_declarations(app: str, tools: Iterable[tuple[str, str, Json, Json | None]]) -> str:
    """Return the types of tools, given as (name, description, input, output), and of a message with them.

    Tools of several agents that share a name share a type: each of its sides is a union.
    """
    by_name: dict[str, tuple[str, dict[str, None], dict[str, None]]] = {}
    for name, description, takes, gives in tools:
        _, inputs, outputs = by_name.setdefault(name, (description, {}, {}))
        inputs[typescript(takes) if takes else "Record<string, never>"] = None
        outputs[typescript(gives) if gives is not None else UNKNOWN] = None
    title = (
        "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", app)) or "App"
    )
    lines = [f"/** The tools of `{app}`. */", f"export type {title}Tools = {{"]
    for name, (description, inputs, outputs) in by_name.items():
        sides = f"input: {' | '.join(inputs)}; output: {' | '.join(outputs)}"
        lines += [*_comment(description), f"  {json.dumps(name)}: {{ {sides} }};"]
    message = f"export type {title}UIMessage = PrismUIMessage<{title}Tools>;"
    return "\n".join((*lines, "};", "", f"/** A message of a chat with `{app}`. */", message, ""))


def typescript(schema: Json) -> str:
    """Return the TypeScript type of what a JSON schema allows."""
    return _tool_type(schema, schema.get("$defs") or schema.get("defs") or {}, MOST_LEVELS)


def _comment(text: str) -> list[str]:
    first = text.strip().partition("\n\n")[0].replace("*/", "* /")
    return [f"  /** {' '.join(first.split())} */"] if first else []


def _tool_type(schema: Any, defs: Json, left: int) -> str:
    if not isinstance(schema, Mapping) or left == 0:
        return UNKNOWN
    found = _one(schema, defs, left - 1)
    return f"{found} | null" if schema.get("nullable") and found != UNKNOWN else found


def _one(schema: Json, defs: Json, left: int) -> str:
    if "$ref" in schema:
        return _tool_type(defs.get(str(schema["$ref"]).rpartition("/")[2]), defs, left)
    if "const" in schema:
        return json.dumps(schema["const"])
    if isinstance(schema.get("enum"), list):
        return _union(json.dumps(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return _union(_tool_type(each, defs, left) for each in schema[key])
    if isinstance(schema.get("allOf"), list):
        return " & ".join(_tool_type(each, defs, left) for each in schema["allOf"]) or UNKNOWN
    kinds = schema.get("type", "")
    return _union(
        _kind(str(kind).lower(), schema, defs, left)
        for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _kind(kind: str, schema: Json, defs: Json, left: int) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "array":
        items = _tool_type(schema.get("items", {}), defs, left)
        return f"({items})[]" if re.search(r"[|&]", items) else f"{items}[]"
    if kind == "object" or (kind in _UNSPOKEN and "properties" in schema):
        return _object(schema, defs, left)
    return UNKNOWN


def _object(schema: Json, defs: Json, left: int) -> str:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    if not properties:
        further = schema.get("additionalProperties")
        values = _tool_type(further, defs, left) if isinstance(further, Mapping) else UNKNOWN
        return f"{{ [key: string]: {values} }}"
    members = (
        f"{json.dumps(name)}{'' if name in required else '?'}: {_tool_type(each, defs, left)}"
        for name, each in properties.items()
    )
    return f"{{ {'; '.join(members)} }}"


def _union(types: Iterable[str]) -> str:
    found = list(dict.fromkeys(types))
    return UNKNOWN if not found or UNKNOWN in found else " | ".join(found)


# ---------------------------------------------------------------------------
#
# `adk-prism types`: prints them, and those of an app's tools.


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "app", metavar="APP", nargs="?", help="also print the types of this app's tools"
    )
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.epilog = "Write the output to a file of your project: adk-prism types my_app > prism.ts"


def execute(args: argparse.Namespace) -> int:
    """Print the types; return 1 if a tool of the app could not be read. Raise `UsageError`."""
    if args.app is None:
        if args.dir:
            raise UsageError("--dir needs an APP: adk-prism types APP --dir AGENTS_DIR")
        sys.stdout.write(declarations())
        return 0
    return asyncio.run(_print(args.app, Path(args.dir) if args.dir else None))


async def _print(name: str, folder: Path | None) -> int:
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.adk.apps import open_app
    from adk_prism.adk.services import IN_MEMORY
    from adk_prism.features.types.tool_schemas import ToolSchema, UnreadTool, tool_schemas

    with progress(f"Loading {name}…"):
        opening = open_app(name, folder, IN_MEMORY, Path.cwd(), report=DiagnosticPrinter())
        async with opening as apps:
            found = await tool_schemas(apps.app(name).runner("graph").agent)
    unread = [each for each in found if isinstance(each, UnreadTool)]
    for each in unread:
        note(f"No types for {each.tool} of {each.agent}: {each.reason[:300]}")
    tools = ((t.name, t.description, t.input, t.output) for t in found if isinstance(t, ToolSchema))
    sys.stdout.write(declarations() + "\n" + tool_declarations(name, tools))
    return FAILURE if unread else 0
