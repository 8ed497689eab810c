"""The web page: the files that `web/` was built into, with a policy that lets nothing else in.

The page is one document and its assets. The document is never cached; an asset's name
holds its hash, so it may be kept for ever. Everything is compressed once and kept, since there is
little of it. Where the page was not built (a checkout without Node), `built` says so and the plain
page of `home.py` stays.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from adk_prism.errors import NotFound

BUILT = Path(__file__).parent.parent / "web" / "dist"

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:;"
    " object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

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


def routes() -> APIRouter:
    """Return the router of the page's files; its document is served by `index_page.py`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/assets/{name}")
    def asset(request: Request, name: str) -> Response:
        """Return a file whose name changes whenever its content does."""
        if _ASSET.fullmatch(name) is None:
            raise NotFound("The page has no such file.")
        forever = {"cache-control": "public, max-age=31536000, immutable"}
        return _file(request, BUILT / "assets" / name, forever)

    @router.get(f"/{_ICON}")
    def icon(request: Request) -> Response:
        """Return the page's icon."""
        return _file(request, BUILT / _ICON, {"cache-control": "no-cache"})

    return router


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
