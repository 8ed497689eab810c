"""Whether an answer fits what was asked for: JSON schemas of questions, and shapes of payloads.

ADK (google-adk 2.13) checks the answer to `adk_request_input` only after the run has begun, and ends the
workflow over a wrong one; the payload of a confirmation it does not check at all. So both are checked
before a run begins. Typed words are read as the value that the schema wants: JSON, a number, yes or no,
and a single value for an object with one required field.

A schema that is none, points outside itself, or names properties by expressions is passed over, as ADK
does.
"""

from __future__ import annotations

from typing import Any

import msgspec
from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import best_match
from msgspec import Raw
from referencing import Registry
from referencing.exceptions import Unresolvable

from adk_prism.errors import Unprocessable
from adk_prism.facts.calls.question_schema import payload_schema, plain_schema, response_schema
from adk_prism.facts.calls.schema_values import NONE, Json, Validator, coerced, parsed
from adk_prism.runlog.entry import to_raw

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
