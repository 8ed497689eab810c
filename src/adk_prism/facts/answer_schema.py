"""Whether an answer fits what was asked for: JSON schemas of questions, and shapes of payloads.

ADK (google-adk 2.13) checks the answer to `adk_request_input` only after the run has begun, and ends the
workflow over a wrong one; the payload of a confirmation it does not check at all. So both are checked
before a run begins. Typed words are read as the value that the schema wants: JSON, a number, yes or no,
and a single value for an object with one required field.

A schema that is none, points outside itself, or names properties by expressions is passed over, as ADK
does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from msgspec import Raw
from referencing import Registry
from referencing.exceptions import Unresolvable

from adk_prism.errors import Unprocessable
from adk_prism.facts.state import read_object
from adk_prism.log.entry import to_raw

# ---------------------------------------------------------------------------
# What a question asks for: the JSON schema of its answer.
#
# Apart from `answer_schema`, which checks answers with jsonschema: importing that takes a tenth of a
# second, which a replay on the command line should not wait for.

Json = dict[str, Any]

_TYPES = {"OBJECT", "ARRAY", "STRING", "INTEGER", "NUMBER", "BOOLEAN", "NULL"}
"""As genai spells them in schemas of its own."""


def response_schema(request: Raw) -> Json:
    """Return the schema of the answer to `adk_request_input`; empty if anything will do."""
    tree = read_object(request)
    schema = tree.get("response_schema") or tree.get("responseSchema")
    return schema if isinstance(schema, dict) else {}


def payload_schema(payload: Raw) -> Json:
    """Return the schema of a confirmation's payload, read from the one that the tool sent as a sample.

    Every key is wanted, with a value of the same JSON type; `null` stands for anything.
    """
    return _sample(msgspec.json.decode(bytes(payload))) if bytes(payload) else {}


def _sample(value: Any) -> Json:
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array"}
        case dict():
            fields = {key: _sample(item) for key, item in value.items()}
            return {"type": "object", "properties": fields, "required": list(fields)}
        case _:
            return {}


def plain_schema(schema: Any) -> Any:
    """Return a schema with its types as JSON schema spells them."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: plain_schema(value) for key, value in schema.items()}
    kind = found.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        found["type"] = kind.lower()
        if found.pop("nullable", False) is True:
            found["type"] = [kind.lower(), "null"]
    return found


# ---------------------------------------------------------------------------
# Reads values from words according to a JSON schema, as far as that is unambiguous.
#
# Knows nothing of questions and answers; `answer_schema` decides what is refused.


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


# ---------------------------------------------------------------------------

LONGEST_SCHEMA_TEXT = 400
"""Characters of a problem's text that say what is expected: enough for a form of ten fields."""

_RESULT = "result"
"""Key under which ADK takes an answer that is not an object."""


# --------------------------------------------------------------------------- questions


def fit_response(request: Raw, response: Raw) -> Raw:
    """Return the answer to `adk_request_input` as the schema wants it. Raise `Unprocessable`."""
    schema = response_schema(request)
    if not schema:
        return response
    given = msgspec.json.decode(bytes(response)) if bytes(response) else None
    if isinstance(given, dict) and given.keys() == {_RESULT}:
        given = given[_RESULT]
    value = _fitted(plain_schema(schema), given)
    return response if value is NONE else to_raw({_RESULT: _unparsed(value)})


def _unparsed(value: Any) -> Any:
    """Return a value as ADK reads it back: it takes a text that is JSON for what that says."""
    if isinstance(value, str) and parsed(value) is not NONE:
        return msgspec.json.encode(value).decode()
    return value


def _fitted(schema: Json, value: Any) -> Any:
    """Return the value that is meant; `NONE` where the schema cannot tell."""
    validator = _validator(schema)
    if validator is None:
        return NONE
    try:
        if validator.is_valid(value):
            return value
        value = coerced(schema, value, schema, 0)
        error = best_match(validator.iter_errors(value))
    except (Unresolvable, RecursionError):
        return NONE
    if error is None:
        return value
    raise Unprocessable(
        f"The answer does not match the requested schema: {_where(error)}. {expected(schema)} "
        "The question stays open."
    )


# --------------------------------------------------------------------------- payloads


def check_payload(asked: Raw, given: Raw) -> None:
    """Raise `Unprocessable` for a payload that has not the shape of the one that was asked for."""
    schema = payload_schema(asked)
    if not schema:
        return
    if not bytes(given):
        if schema.get("type") == "object" and not schema["required"]:
            return
        raise Unprocessable(
            f"The tool requires a payload with the approval, but none was sent. {expected(schema)} "
            "The approval stays open."
        )
    error = best_match(Validator(schema).iter_errors(msgspec.json.decode(bytes(given))))
    if error is not None:
        raise Unprocessable(
            f"The payload does not match the schema of the tool: {_where(error)}. "
            f"{expected(schema)} The approval stays open."
        )


# --------------------------------------------------------------------------- words


def expected(schema: Json) -> str:
    """Say in a sentence what a schema wants."""
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields:
        required = schema.get("required") or ()
        told = [
            f"`{name}` ({_kind(field)}{'' if name in required else ', optional'})"
            for name, field in fields.items()
        ]
        text = f"Expected an object with {', '.join(told)}."
    else:
        text = f"Expected {_kind(schema)}."
    return text if len(text) <= LONGEST_SCHEMA_TEXT else f"{text[:LONGEST_SCHEMA_TEXT]}…"


def _kind(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any value"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(str(each) for each in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(str(each) for each in kind)
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return " or ".join(_kind(option) for option in options)
    return kind if isinstance(kind, str) else "any value"


def _where(error: Any) -> str:
    place = ".".join(str(step) for step in error.absolute_path)
    return f"{f'at `{place[:80]}`: ' if place else ''}{error.message[:200]}"


# --------------------------------------------------------------------------- schemas


def _validator(schema: Json) -> Any:
    """Return the validator of a schema; None if it cannot tell."""
    if b'"patternProperties"' in msgspec.json.encode(schema):
        return None  # an expression can be made to run for ever, and a model may have written it
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return None
    # Its own registry: what a schema points to outside itself is never fetched.
    return Validator(schema, registry=Registry())
