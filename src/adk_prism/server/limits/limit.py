"""The limits of a caller, kept for every request and socket: pure ASGI, for what streams.

One too many is refused before it is read, with 429 and `Retry-After`. Bytes are counted both ways; where
there were too many, what goes out waits, and what comes in over a socket (a body is bounded, and is let in).
That delays this caller and nobody else: a run never waits for its viewers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.pipeline.quota import Refused
from adk_prism.server.identity.caller import account, of_scope
from adk_prism.server.limits.account import Account, Accounts
from adk_prism.server.limits.caller_limits import CallerLimits

LONGEST_WAIT = 5.0
"""Seconds that one piece waits: far less than what a reader is given before it counts as stalled."""

_SENT = {"http.response.body": ("body",), "websocket.send": ("text", "bytes")}
_RECEIVED = {"http.request": ("body",), "websocket.receive": ("text", "bytes")}


class Limit:
    """Keeps callers within their limits."""

    def __init__(
        self,
        app: ASGIApp,
        limits: CallerLimits,
        refused: Refused,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._clock = clock
        self._counts_bytes = bool(limits.bytes)
        self._accounts = Accounts(limits, clock, refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        own = self._accounts.of(account(of_scope(scope)))
        with own.open(scope["type"], self._clock()):
            if self._counts_bytes:
                receive, send = self._received(own, receive), self._sent(own, send)
            await self._app(scope, receive, send)

    def _sent(self, own: Account, send: Send) -> Send:
        async def send_counted(message: Message) -> None:
            await send(message)
            await self._wait(own.use(_size(message, _SENT), self._clock()))

        return send_counted

    def _received(self, own: Account, receive: Receive) -> Receive:
        async def receive_counted() -> Message:
            message = await receive()
            delay = own.use(_size(message, _RECEIVED), self._clock())
            if message["type"] == "websocket.receive":
                await self._wait(delay)
            return message

        return receive_counted

    @staticmethod
    async def _wait(delay: float) -> None:
        if delay:
            await asyncio.sleep(min(delay, LONGEST_WAIT))


def _size(message: Message, kinds: dict[str, tuple[str, ...]]) -> int:
    return sum(len(message.get(key) or b"") for key in kinds.get(message["type"], ()))
