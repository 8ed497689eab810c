"""Middleware that enforces the limits of callers; pure ASGI, since responses are streams.

A request beyond a limit is refused before it is read, with 429 and `Retry-After`. Bytes are counted both
ways; a caller that used too many waits before it gets more, or before its next WebSocket message is read (a
body is bounded, and is accepted). That delays this caller only: a run never waits for its clients.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.pipeline.quota import Refused
from adk_prism.runlog.usage_counters import LimitCheck
from adk_prism.server.identity.caller import account, of_scope
from adk_prism.server.limits.caller_limits import CallerLimits
from adk_prism.server.limits.caller_usage import CallerUsage, Kind, UsageByCaller, allowed, too_many
from adk_prism.server.limits.shared_limits import SharedLimits

LONGEST_WAIT = 5.0
"""Seconds that one message waits: far less than the time after which a reader counts as stalled."""

Use = Callable[[int], float]
"""Counts bytes; returns for how long the next ones should wait."""

_SENT = {"http.response.body": ("body",), "websocket.send": ("text", "bytes")}
_RECEIVED = {"http.request": ("body",), "websocket.receive": ("text", "bytes")}


class LimitMiddleware:
    """Enforces the limits of callers."""

    def __init__(
        self,
        app: ASGIApp,
        limits: CallerLimits,
        refused: Refused,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedLimits | None = None,
    ) -> None:
        """With `shared`, the limits hold for all replicas together."""
        self._app = app
        self._limits = limits
        self._shared = shared
        self._refused = refused
        self._clock = clock
        self._counts_bytes = bool(limits.bytes)
        self._accounts = UsageByCaller(limits, clock, refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        name = account(of_scope(scope))
        own = self._accounts.of(name)
        with own.open(scope["type"], self._clock()):
            async with self._shared_open(name, scope["type"]):
                if self._counts_bytes:
                    use = self._use(name, own)
                    receive, send = self._received(use, receive), self._sent(use, send)
                await self._app(scope, receive, send)

    @asynccontextmanager
    async def _shared_open(self, name: str, kind: Kind) -> AsyncIterator[None]:
        """Count a request or socket for all replicas. Raise `TooMany`."""
        if self._shared is None:
            yield
            return
        answer = await self._shared.enter(name, kind, allowed(self._limits, kind))
        if isinstance(answer, LimitCheck):
            raise too_many(answer, self._limits, kind, self._refused)
        try:
            yield
        finally:
            await self._shared.leave(answer)

    def _use(self, name: str, own: CallerUsage) -> Use:
        def use(amount: int) -> float:
            delay = own.use(amount, self._clock())
            if self._shared is None:
                return delay
            return max(delay, self._shared.use(name, amount, self._limits.bytes))

        return use

    def _sent(self, use: Use, send: Send) -> Send:
        async def send_counted(message: Message) -> None:
            await send(message)
            await self._wait(use(_size(message, _SENT)))

        return send_counted

    def _received(self, use: Use, receive: Receive) -> Receive:
        async def receive_counted() -> Message:
            message = await receive()
            delay = use(_size(message, _RECEIVED))
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
