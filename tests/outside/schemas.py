"""An example value for a JSON schema, in either of the spellings that Gemini takes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_PLAIN: dict[str, Any] = {
    "string": "text",
    "integer": 2,
    "number": 1.5,
    "boolean": True,
    "null": None,
}
_DEEPEST = 8
"""Levels of a schema that are filled: one that contains itself has no end."""


def example(schema: Json, definitions: Json | None = None, depth: int = 0) -> Any:
    """Return a value that fits the schema; of an object, the required properties."""
    definitions = schema.get("$defs", definitions or {})
    if "$ref" in schema:
        return example(definitions[schema["$ref"].rpartition("/")[2]], definitions, depth)
    for choices in (schema.get("anyOf"), schema.get("oneOf"), schema.get("allOf")):
        if choices:
            return example(choices[0], definitions, depth)
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind in _PLAIN:
        return _PLAIN[kind]
    if depth >= _DEEPEST:
        return [] if kind == "array" else {}
    if kind == "array":
        return [example(schema.get("items", {"type": "string"}), definitions, depth + 1)]
    properties = schema.get("properties", {})
    return {
        name: example(properties[name], definitions, depth + 1)
        for name in schema.get("required", [])
        if name in properties
    }
