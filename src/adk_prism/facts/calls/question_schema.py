"""What a question asks for: the JSON schema of its answer.

Apart from `answer_schema`, which checks answers with jsonschema: importing that takes a tenth of a second,
which a replay on the command line should not wait for.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.facts.json_value import read_object

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
