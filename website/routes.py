"""The reference of the HTTP routes and sockets: what the server's OpenAPI document says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from starlette.routing import WebSocketRoute

from adk_prism import Settings, create_app
from website.markdown import code, plain, table


def routes() -> str:
    """Return a section for each group of routes, and one for the sockets."""
    app = create_app(settings=Settings(log="memory:", sessions="memory:", artifacts="memory:"))
    document = app.openapi()
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = operation.get("tags", ["other"])[0]
            groups.setdefault(group, []).append(_operation(method, path, operation, document))
    sections = [f"## {group}\n\n" + "\n\n".join(each) for group, each in groups.items()]
    return "\n\n".join([*sections, _sockets(app.routes)])


def _operation(method: str, path: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    parts = [f"### {method.upper()} {path} {{ #{_anchor(method, path)} }}"]
    parts.append(plain(operation.get("description", "")))
    given = operation.get("parameters", [])
    rows = [
        [code(each["name"]), each["in"], _schema(each["schema"]), _about(each)] for each in given
    ]
    if rows := [row for row in rows if row[1] != "path"]:
        parts.append(table(["parameter", "in", "value", "what it is"], rows))
    if body := operation.get("requestBody"):
        parts += list(_body(body, document))
    answers = [f"{code(status)} {each['description']}" for status, each in _answers(operation)]
    if answers:
        parts.append(f"Answers: {'; '.join(answers)}.")
    return "\n\n".join(filter(None, parts))


def _anchor(method: str, path: str) -> str:
    return re.sub(r"\W+", "-", f"{method}{path}").strip("-").lower()


def _answers(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those that say more than that it worked, or failed."""
    for status, answer in operation.get("responses", {}).items():
        if status not in ("200", "default", "422"):
            yield status, answer


def _body(body: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    for kind, content in body["content"].items():
        schema = _resolved(content.get("schema", {}), document)
        fields = schema.get("properties", {})
        needed = set(schema.get("required", ()))
        about = plain(schema.get("description", ""))
        yield f"Body: {code(kind)}. {about}".rstrip()
        if fields:
            rows = [
                [code(name), _schema(each), "yes" if name in needed else "", _about(each)]
                for name, each in fields.items()
            ]
            yield table(["field", "value", "required", "what it is"], rows)


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " or ".join(code(str(each)) for each in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    if options := schema.get("anyOf"):
        return " or ".join(_schema(each) for each in options if each.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_schema(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _about(described: dict[str, Any]) -> str:
    schema = described.get("schema", described)
    text = described.get("description") or schema.get("description") or ""
    default = schema.get("default")
    shown = f" Default: `{default}`." if default not in (None, "", []) else ""
    return plain(text + shown).strip()


def _sockets(given: list[Any]) -> str:
    sockets = [each for each in given if isinstance(each, WebSocketRoute)]
    rows = [
        [code(f"WS {each.path}"), plain(_first_line(each.endpoint))]
        for each in sorted(sockets, key=lambda each: each.path)
    ]
    return f"## Sockets\n\n{table(['socket', 'what it does'], rows)}"


def _first_line(endpoint: Any) -> str:
    """Return what a socket is for: its own text, or that of its module."""
    text = inspect.getdoc(endpoint) or inspect.getdoc(inspect.getmodule(endpoint)) or ""
    return text.partition("\n\n")[0]
