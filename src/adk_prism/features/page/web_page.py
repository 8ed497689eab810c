"""The pages at `/` and `/docs`: the web page where it was built, else what runs here and how to call it.

Those made here are plain HTML: no script, nothing loaded from anywhere, and a policy that says so.
The routes are those of the application's own OpenAPI, so the page cannot promise what is not there.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from adk_prism.adk.apps import Apps
from adk_prism.errors import NotFound
from adk_prism.server.identity.caller import Anyone, caller_of
from adk_prism.server.identity.identity import Identity
from adk_prism.server.run_streams import base_url
from adk_prism.server.settings import Settings

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
        if built():
            return document(request)
        base, names = base_url(request, settings), apps.names()
        if identity.required and isinstance(caller_of(request), Anyone):
            names = []  # Its own are for those who are known.
        heading = "<h1>adk-prism</h1><p>One ADK run in; every front end out.</p>"
        body = [heading, *_apps(names), *_call(names, base)]
        return _page("adk-prism", [*body, *_operations(request.app.openapi())])

    @router.get("/docs")
    async def docs(request: Request) -> HTMLResponse:
        """Show every route with its parameters and answers."""
        return _page("adk-prism: routes", _reference(request.app.openapi()))

    @router.get("/assets/{name}")
    def asset(request: Request, name: str) -> Response:
        """Return a file whose name changes whenever its content does."""
        if _ASSET.fullmatch(name) is None:
            raise NotFound("The page has no such file.")
        forever = {"cache-control": "public, max-age=31536000, immutable"}
        if name.endswith(".html"):
            forever["content-security-policy"] = FRAME_POLICY
        return _file(request, BUILT / "assets" / name, forever)

    @router.get(f"/{_ICON}")
    def icon(request: Request) -> Response:
        """Return the page's icon."""
        return _file(request, BUILT / _ICON, {"cache-control": "no-cache"})

    return router


def _page(title: str, body: Iterable[str]) -> HTMLResponse:
    text = "\n".join(body)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{text}</body></html>",
        headers=HEADERS,
    )


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


# ---------------------------------------------------------------------------
# The web page: the files that `web/` was built into, with a policy that lets nothing else in.
#
# The page is one document and its assets. The document is never cached; an asset's name holds its
# hash, so it may be kept for ever. Everything is compressed once and kept, since there is little of
# it. Where the page was not built (a checkout without Node), `built` says so and the plain page of
# `home.py` stays.

BUILT = Path(__file__).parents[2] / "web" / "dist"

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:;"
    " object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

FRAME_POLICY = "sandbox allow-scripts; frame-ancestors 'self'"
"""Of documents among the assets, which are shown in frames: they have no origin, however they are opened.
What they may load is said by themselves."""

PERMISSIONS = "microphone=(self), geolocation=(self), camera=(), display-capture=()"
"""What the page may ask the person for: a voice, and a place for a tool that wants one. No frame may."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "vary": "accept-encoding",
}

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}

_ASSET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_ICON = "prism.svg"

_KEPT = 256
"""Files kept in memory: several times those of one build, so that a rebuilt page is kept too."""


def built() -> bool:
    """Return whether there is a page to serve."""
    return (BUILT / "index.html").is_file()


def document(request: Request) -> Response:
    """Return the page's document."""
    fresh = {
        "cache-control": "no-cache",
        "content-security-policy": POLICY,
        "permissions-policy": PERMISSIONS,
    }
    return _file(request, BUILT / "index.html", fresh)


def _file(request: Request, path: Path, headers: dict[str, str]) -> Response:
    media_type = _TYPES.get(path.suffix)
    if media_type is None or not path.is_file():
        raise NotFound("The page has no such file.")
    plain, packed = _read(path, path.stat().st_mtime_ns)
    headers = {**_HEADERS, **headers}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            packed, media_type=media_type, headers={**headers, "content-encoding": "gzip"}
        )
    return Response(plain, media_type=media_type, headers=headers)


@lru_cache(maxsize=_KEPT)
def _read(path: Path, changed: int) -> tuple[bytes, bytes]:  # noqa: ARG001 -- a part of the key
    plain = path.read_bytes()
    return plain, gzip.compress(plain, mtime=0)
