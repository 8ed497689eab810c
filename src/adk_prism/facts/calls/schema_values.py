"""Reads values from words according to a JSON schema, as far as that is unambiguous.

Knows nothing of questions and answers; `answer_schema` decides what is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from referencing import Registry

Json = dict[str, Any]

DEEPEST = 32
"""Levels of a schema that words are read by; a schema that refers to itself has no end."""

NONE: Any = object()
"""No value, where `None` is one."""

_WORDS = {"true": True, "yes": True, "y": True, "on": True} | {
    "false": False,
    "no": False,
    "n": False,
    "off": False,
}


def _passed_over(*_: Any) -> Iterator[Any]:
    yield from ()


PASSED_OVER = ("pattern", "uniqueItems")
"""Keywords that are not checked: a model may have written the schema, an expression can be made to run for
ever, and to compare all items of a list takes the square of its length."""

Validator = extend(Draft202012Validator, dict.fromkeys(PASSED_OVER, _passed_over))


def parsed(text: str) -> Any:
    """Read text as JSON; `NONE` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return NONE


def coerced(schema: Any, value: Any, root: Json, depth: int) -> Any:
    """Return the value that is meant, as far as that is unambiguous."""
    schema = _resolved(schema, root)
    if not isinstance(schema, dict) or depth > DEEPEST:
        return value
    options = schema.get("anyOf") or schema.get("oneOf") or _each_type(schema)
    if isinstance(options, list):
        return _first_that_fits(options, value, root, depth)
    match schema.get("type"):
        case "object":
            return _coerced_object(schema, _from_text(value, dict), root, depth)
        case "array":
            listed = _from_text(value, list)
            if not isinstance(listed, list):
                return value
            return [coerced(schema.get("items"), item, root, depth + 1) for item in listed]
        case "boolean":
            return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        case "integer" | "number" as kind:
            return _from_text(value, int if kind == "integer" else (int, float))
        case _:
            return value


def _each_type(schema: Json) -> list[Json] | None:
    kinds = schema.get("type")
    return [{**schema, "type": kind} for kind in kinds] if isinstance(kinds, list) else None


def _first_that_fits(options: list[Any], value: Any, root: Json, depth: int) -> Any:
    for option in options:
        meant = coerced(option, value, root, depth + 1)
        resolved = _resolved(option, root)
        if isinstance(resolved, dict) and Validator(
            {**resolved, "$defs": root.get("$defs") or {}}, registry=Registry()
        ).is_valid(meant):
            return meant
    return value


def _coerced_object(schema: Json, value: Any, root: Json, depth: int) -> Any:
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return value
    if isinstance(value, dict):
        return {key: coerced(fields.get(key), item, root, depth + 1) for key, item in value.items()}
    required = schema.get("required")
    if not isinstance(required, list) or len(required) != 1 or value is None:
        return value
    name = required[0]
    return {name: coerced(fields.get(name), value, root, depth + 1)}


def _from_text(value: Any, kind: Any) -> Any:
    """Read text as JSON where that gives a value of the kind."""
    if not isinstance(value, str):
        return value
    found = parsed(value)
    return found if isinstance(found, kind) and not isinstance(found, bool) else value


def _resolved(schema: Any, root: Json) -> Any:
    """Follow references within the schema."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = _pointed(schema["$ref"], root)
    return None


def _pointed(reference: str, root: Json) -> Any:
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").removeprefix("/").split("/"):
        if step:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
    return found
