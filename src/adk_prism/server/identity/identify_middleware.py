"""Authenticates every request and socket, or refuses it.

Streams and sockets are closed when the token expires or the share link is revoked. A stream is cut, so that
its client reconnects with a new token; a socket is closed with 1008.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext

from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism.errors import Unauthorized
from adk_prism.server.guards.local_requests import KNOWN_KEY
from adk_prism.server.identity.caller import SCOPE_KEY, Anyone, Caller, Guest
from adk_prism.server.identity.identity import Identity
from adk_prism.server.identity.share_links import ShareLinks


class IdentifyMiddleware:
    """Sets the caller of each request."""

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
