"""The user header of an authenticating proxy, accepted only from that proxy.

The address of the connection itself is checked. Servers such as uvicorn replace the scope's client by
`X-Forwarded-For`, which anybody can send; `NotePeer` keeps the original address.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism.errors import PrismError, Unauthorized
from adk_prism.server.guards.forwarded_headers import TrustedProxies
from adk_prism.server.guards.local_requests import PEER_KEY
from adk_prism.server.guards.name_rules import check_user
from adk_prism.server.identity.caller import Principal


class ProxyHeader:
    """One header, and the proxies that may set it."""

    def __init__(self, header: str, trusted: TrustedProxies) -> None:
        self._header = header
        self._trusted = trusted

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the user that a trusted proxy names; None without one, or from another address."""
        given = connection.headers.getlist(self._header)
        if not given or not self._trusted.sent(connection.scope):
            return None
        if len(given) > 1:
            raise Unauthorized("The proxy sent more than one user name.")
        try:
            # Header values are bytes; proxies write names in UTF-8.
            return Principal(check_user(given[0].encode("latin-1").decode().strip()))
        except (PrismError, UnicodeDecodeError):
            raise Unauthorized("The proxy sent no valid user name.") from None


class NotePeer:
    """Keeps the address of the connection, before anything rewrites it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope[PEER_KEY] = scope.get("client")
        await self._app(scope, receive, send)
