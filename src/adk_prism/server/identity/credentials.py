"""What all authentication methods share, and how credentials are read from a request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection

from adk_prism.errors import Unauthorized
from adk_prism.server.identity.caller import Principal

Method = Callable[[HTTPConnection], Awaitable[Principal | None]]
"""Return the caller, or None if the request has no credential for this method. Raise `Unauthorized` for a
credential that is not valid."""

LONGEST = 16 * 1024
"""Characters of a credential: ten times a JWT with many claims."""


def digest(secret: str) -> bytes:
    """Return what is stored of a token or ticket: it cannot be used in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def bearer(connection: HTTPConnection) -> str:
    """Return the bearer token of a request, or the password of HTTP's basic scheme; else nothing.

    Browsers have a form for the latter, so a page can be opened with a token.
    """
    given = connection.headers.getlist("authorization")
    if not given:
        return ""
    if len(given) > 1:
        raise Unauthorized("Send only one Authorization header.")
    scheme, _, value = given[0].partition(" ")
    value = value.strip()
    if len(value) > LONGEST:
        raise Unauthorized("The Authorization header is too long.")
    if scheme.lower() == "bearer":
        return value
    return _password(value) if scheme.lower() == "basic" else ""


def _password(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:  # not base64, or not text
        raise Unauthorized("The Authorization header must use the Basic scheme.") from None
