"""The pages at `/` and `/docs`: the web page where it was built, else what runs here and how to call it.

Those made here are plain HTML: no script, nothing loaded from anywhere, and a policy that says so.
The routes are those of the application's own OpenAPI, so the page cannot promise what is not there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from adk_prism.server import web_page
from adk_prism.server.base_url import base_url
from adk_prism.server.identity.caller import Anyone, caller_of
from adk_prism.server.identity.identity import Identity
from adk_prism.server.settings import Settings
from adk_prism.source.apps import Apps

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { background: #8881; padding: 1rem; overflow-x: auto }
td { padding: .1rem 1rem .1rem 0; vertical-align: top }
:root { color-scheme: light dark }
"""

_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

HEADERS = {
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_HASH}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


def routes(settings: Settings, apps: Apps, identity: Identity) -> APIRouter:
    """Return the router of the pages that a person reads."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def home(request: Request) -> Response:
        """Show what runs here."""
        if web_page.built():
            return web_page.document(request)
        base, names = base_url(request, settings), apps.names()
        if identity.required and isinstance(caller_of(request), Anyone):
            names = []  # Its own are for those who are known.
        body = [_heading(), *_apps(names), *_call(names, base)]
        return _page("adk-prism", [*body, *_operations(request.app.openapi())])

    @router.get("/docs")
    async def docs(request: Request) -> HTMLResponse:
        """Show every route with its parameters and answers."""
        return _page("adk-prism: routes", _reference(request.app.openapi()))

    return router


def _page(title: str, body: Iterable[str]) -> HTMLResponse:
    text = "\n".join(body)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{text}</body></html>",
        headers=HEADERS,
    )


def _heading() -> str:
    return "<h1>adk-prism</h1><p>One ADK run in; every front end out.</p>"


def _apps(names: Iterable[str]) -> Iterator[str]:
    yield "<h2>Apps</h2><ul>"
    yield from (f"<li><code>{escape(name)}</code></li>" for name in names)
    yield "</ul>"


def _call(names: list[str], base: str) -> Iterator[str]:
    if not names:
        return
    command = (
        f"curl -N {base}/api/chat/{names[0]} -H 'content-type: application/json' \\\n"
        """  -d '{"id":"try","messages":[{"id":"1","role":"user","parts":"""
        """[{"type":"text","text":"Hello"}]}]}'"""
    )
    yield f"<h2>Try it</h2><pre>{escape(command)}</pre>"


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    yield '<h2>Routes</h2><p>With parameters and answers: <a href="docs">docs</a>,'
    yield ' <a href="openapi.json">openapi.json</a>.</p><table>'
    for path, method, operation in _walk(document):
        yield f"<tr><td><code>{method} {escape(path)}</code></td>"
        yield f"<td>{escape(_summary(operation))}</td></tr>"
    yield "</table>"


def _reference(document: Mapping[str, Any]) -> Iterator[str]:
    yield '<h1>Routes</h1><p>Generated from <a href="openapi.json">openapi.json</a>.</p>'
    for path, method, operation in _walk(document):
        yield f"<h2><code>{method} {escape(path)}</code></h2><p>{escape(_summary(operation))}</p>"
        yield "<table>"
        for parameter in operation.get("parameters", ()):
            where, name = parameter["in"], parameter["name"]
            yield _row(where, name, _schema_name(parameter.get("schema", {})))
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            yield _row("body", media, _schema_name(content.get("schema", {})))
        for status, answer in operation.get("responses", {}).items():
            kinds = answer.get("content", {})
            names = [f"{kind} {_schema_name(c.get('schema', {}))}" for kind, c in kinds.items()]
            yield _row(status, answer.get("description", ""), ", ".join(names))
        yield "</table>"


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _walk(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, item in document.get("paths", {}).items():
        for method, operation in item.items():
            yield path, method.upper(), operation


def _summary(operation: Mapping[str, Any]) -> str:
    text: str = operation.get("description", operation.get("summary", ""))
    return text.partition("\n\n")[0]


def _schema_name(schema: Mapping[str, Any]) -> str:
    reference: str = schema.get("$ref", "")
    if reference:
        return reference.rpartition("/")[2]
    if schema.get("type") == "array":
        return f"array of {_schema_name(schema.get('items', {}))}"
    return str(schema.get("type", "JSON"))
