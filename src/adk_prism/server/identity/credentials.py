"""What every way to prove an identity has in common, and how credentials lie in a request."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection

from adk_prism.errors import Unauthorized
from adk_prism.server.identity.caller import Principal

Method = Callable[[HTTPConnection], Awaitable[Principal | None]]
"""Return who calls, or None where the request has nothing that this way looks at. Raise `Unauthorized`
for a credential that is meant for it and is not good."""

LONGEST = 16 * 1024
"""Characters of a credential: ten times a JWT with many claims."""


def bearer(connection: HTTPConnection) -> str:
    """Return the bearer token of a request, or the password of HTTP's basic scheme; else nothing.

    Browsers ask for the latter by themselves, so a page can be opened with a token.
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
    except ValueError:  # not base64, or what it stands for is no text
        raise Unauthorized("The Authorization header must use the Basic scheme.") from None
