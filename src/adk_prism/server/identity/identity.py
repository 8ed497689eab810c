"""Authentication of a request: by one of the configured methods, a ticket, or a share link.

Without a configured method, callers are not authenticated. With one, requests without a valid credential get
401, except on a few public routes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from urllib.parse import parse_qsl, urlencode

from msgspec import structs
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism.errors import NotFound, Unauthorized
from adk_prism.server.guards.local_requests import KNOWN_KEY
from adk_prism.server.identity.caller import SCOPE_KEY, Anyone, Caller, Guest, Principal
from adk_prism.server.identity.credentials import Method
from adk_prism.server.identity.share_links import ShareLinks
from adk_prism.server.identity.tickets import TicketOffice, place_of

TICKET, SHARE = "ticket", "share"
"""Query parameters; removed before anything else sees the URL."""

OPEN_PATHS = frozenset({"/", "/health", "/ready", "/prism.svg"})
OPEN_FOLDERS = ("/assets/",)
"""Public routes: health checks and the files of the web page, which has its own sign-in form."""

BASIC = 'Basic realm="adk-prism", charset="UTF-8"'
"""Makes a browser ask for a token, if an address other than the page is opened by hand."""


class Identity:
    """The authentication methods of one server."""

    def __init__(
        self,
        methods: Sequence[Method],
        tickets: TicketOffice,
        links: ShareLinks,
        admins: Collection[str] = (),
    ) -> None:
        self._methods = methods
        self._tickets = tickets
        self._links = links
        self._admins = frozenset(admins)

    @property
    def required(self) -> bool:
        """Whether callers must authenticate."""
        return bool(self._methods)

    async def identify(self, scope: Scope) -> Caller:
        """Return the caller; remove credentials from the URL. Raise `Unauthorized` or `NotFound`."""
        if not self._methods:
            return Anyone(_address(scope))
        credentials = _take_credentials(scope)
        path = path_of(scope)
        if ticket := credentials.get(TICKET):
            return await self._by_ticket(ticket, path, scope)
        if link := credentials.get(SHARE):
            return await self._by_link(link, path, scope)
        connection = HTTPConnection(scope)
        for method in self._methods:
            principal = await method(connection)
            if principal is not None:
                return self._with_rights(principal)
        if path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
            return Anyone(_address(scope))
        raise Unauthorized(
            "This server requires authentication: send Authorization: Bearer TOKEN.",
            BASIC if connection.headers.get("sec-fetch-mode") == "navigate" else "",
        )

    def _with_rights(self, principal: Principal) -> Principal:
        if principal.user in self._admins:
            return structs.replace(principal, admin=True)
        return principal

    async def _by_ticket(self, ticket: str, path: str, scope: Scope) -> Principal:
        place = place_of(path, scope["query_string"].decode("latin-1"))
        caller = await self._tickets.redeem(ticket, place)
        # Tickets are for `EventSource` and `WebSocket`, which only send GET requests.
        if caller is None or scope.get("method", "GET") != "GET":
            raise Unauthorized("The ticket is unknown, used, expired, or for another URL.")
        return caller

    async def _by_link(self, token: str, path: str, scope: Scope) -> Guest:
        guest = await self._links.guest(token)
        if guest is None or scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            raise NotFound("The link is unknown, expired, revoked, or for another page.")
        run = f"/api/runs/{guest.run}"
        if path != run and not path.startswith(f"{run}/"):
            raise NotFound("The link is unknown, expired, revoked, or for another page.")
        return guest


def path_of(scope: Scope) -> str:
    """Return a request's path, without the prefix that the server is mounted under."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _take_credentials(scope: Scope) -> dict[str, str]:
    """Remove tickets and links from a scope's query, so that nothing can store them."""
    raw: bytes = scope.get("query_string", b"")
    if TICKET.encode() not in raw and SHARE.encode() not in raw:
        return {}
    pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True)
    found = {name: value for name, value in pairs if name in (TICKET, SHARE)}
    if found:
        rest = [(name, value) for name, value in pairs if name not in found]
        scope["query_string"] = urlencode(rest).encode("latin-1")
    return found


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


class IdentifyMiddleware:
    """Sets the caller of each request and socket, or refuses it.

    Streams and sockets are closed when the token expires or the share link is revoked. A stream is cut, so
    that its client reconnects with a new token; a socket is closed with 1008.
    """

    def __init__(self, app: ASGIApp, identity: Identity, links: ShareLinks) -> None:
        self._app = app
        self._identity = identity
        self._links = links

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        caller = await self._identity.identify(scope)
        scope[SCOPE_KEY] = caller
        if not isinstance(caller, Anyone) and (notify := scope.get(KNOWN_KEY)) is not None:
            notify()
        if isinstance(caller, Anyone) or caller.expires is None:
            await self._app(scope, receive, send)
        else:
            await self._while_allowed(caller, caller.expires, scope, receive, send)

    async def _while_allowed(
        self, caller: Caller, expires: float, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            async with asyncio.timeout(expires - time.time()) as limit:
                watched = self._links.watching(caller, limit) if isinstance(caller, Guest) else None
                with watched or nullcontext():
                    await self._app(scope, receive, send)
        except TimeoutError:
            if not limit.expired():
                raise
            raise Unauthorized("Your access has expired or was revoked. Sign in again.") from None
