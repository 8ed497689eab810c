"""How many requests, sockets and bytes one caller may have at a time, so that others have the rest.

A request beyond a limit is refused before it is read, with 429 and `Retry-After`. Bytes are counted both
ways; a caller that used too many waits before it gets more, or before its next WebSocket message is read (a
body is bounded, and is accepted). That delays this caller only: a run never waits for its clients.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal, NoReturn

from starlette.types import Message, Receive, Scope, Send

from adk_prism.errors import TooMany
from adk_prism.extension import Limiter
from adk_prism.features.limits import CallerLimits
from adk_prism.features.limits.shared import SharedLimits
from adk_prism.log.coordination import LimitCheck, UsageLimits
from adk_prism.server.identity.caller import account, of_scope
from adk_prism.server.throttling import TokenBucket

# ---------------------------------------------------------------------- usage
#
# What one caller has open and has used, checked against its limits.

BURST = 2
"""Seconds' worth of requests that may come at once: a page that loads sends many."""

KEPT = 10_000
"""Callers that are remembered; above that, those that use nothing are dropped."""

AGAIN = 5.0
"""Seconds for `Retry-After`: it is not known when something ends."""

Kind = Literal["http", "websocket"]
Refused = Callable[[str], None]
"""Is called with the limit that was exceeded."""


def allowed(limits: CallerLimits, kind: Kind) -> UsageLimits:
    """Return the limits of one caller for requests or sockets."""
    most = {"http": limits.requests, "websocket": limits.sockets}[kind]
    burst = limits.rate * BURST
    return UsageLimits(open=most, rate=limits.rate, burst=burst, bytes=limits.bytes)


def too_many(verdict: LimitCheck, limits: CallerLimits, kind: Kind, refused: Refused) -> TooMany:
    """Return the error for a caller who exceeds a limit, and count the refusal."""
    limit, most, what = {
        "http": ("requests", limits.requests, "requests and streams"),
        "websocket": ("sockets", limits.sockets, "sockets"),
    }[kind]
    texts = {
        "open": f"You have {most} {what} open; close one first.",
        "bytes": f"The limit is {limits.bytes} bytes per second, sent and received together.",
        "rate": f"The limit is {limits.rate} requests per second.",
    }
    refused(limit if verdict.exceeded == "open" else verdict.exceeded)
    return TooMany(texts[verdict.exceeded], verdict.seconds or AGAIN)


class CallerUsage:
    """What one caller has open and has used."""

    __slots__ = ("_bytes", "_limits", "_open", "_rate", "_refused")

    def __init__(self, limits: CallerLimits, now: float, refused: Refused) -> None:
        self._limits = limits
        self._refused = refused
        self._open: dict[Kind, int] = {"http": 0, "websocket": 0}
        self._rate = TokenBucket(limits.rate, limits.rate * BURST, now)
        self._bytes = TokenBucket(limits.bytes, limits.bytes, now)

    @contextmanager
    def open(self, kind: Kind, now: float) -> Iterator[None]:
        """Count a request or socket inside the `with` block. Raise `TooMany` beyond a limit."""
        self._check(kind, now)
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1

    def _check(self, kind: Kind, now: float) -> None:
        most = allowed(self._limits, kind).open
        if most and self._open[kind] >= most:
            self._refuse(LimitCheck("open"), kind)
        if delay := self._bytes.wait(0, now):
            self._refuse(LimitCheck("bytes", delay), kind)
        if delay := self._rate.wait(1, now):
            self._refuse(LimitCheck("rate", delay), kind)
        self._rate.take(1, now)

    def _refuse(self, verdict: LimitCheck, kind: Kind) -> NoReturn:
        raise too_many(verdict, self._limits, kind, self._refused)

    def use(self, amount: int, now: float) -> float:
        """Count bytes; return for how many seconds the next ones should wait."""
        self._bytes.take(amount, now)
        return self._bytes.wait(0, now) if amount else 0.0

    def is_idle(self, now: float) -> bool:
        """Return whether the caller uses nothing."""
        is_full = self._rate.is_full(now) and self._bytes.is_full(now)
        return is_full and not any(self._open.values())


@dataclass(eq=False)
class UsageByCaller:
    """The usage of every caller that uses something."""

    limits: CallerLimits
    clock: Callable[[], float]
    refused: Refused
    kept: int = KEPT

    def __post_init__(self) -> None:
        self._accounts: dict[str, CallerUsage] = {}
        self._next_look = self.kept

    def of(self, name: str) -> CallerUsage:
        """Return the usage of a caller."""
        account = self._accounts.get(name)
        if account is None:
            self._forget()
            account = self._accounts[name] = CallerUsage(self.limits, self.clock(), self.refused)
        return account

    def __len__(self) -> int:
        return len(self._accounts)

    def _forget(self) -> None:
        """Drop idle callers whenever there are twice as many as were left the last time."""
        if len(self._accounts) < self._next_look:
            return
        now = self.clock()
        idle = [name for name, account in self._accounts.items() if account.is_idle(now)]
        for name in idle:
            del self._accounts[name]
        self._next_look = max(self.kept, 2 * len(self._accounts))


# ---------------------------------------------------------------------- requests and sockets

LONGEST_WAIT = 5.0
"""Seconds that one message waits: far less than the time after which a reader counts as stalled."""

Use = Callable[[int], float]
"""Counts bytes; returns for how long the next ones should wait."""

_SENT = {"http.response.body": ("body",), "websocket.send": ("text", "bytes")}
_RECEIVED = {"http.request": ("body",), "websocket.receive": ("text", "bytes")}


@dataclass(eq=False)
class RequestLimiter(Limiter):
    """Limits requests, sockets and bytes."""

    limits: CallerLimits
    refused: Refused
    clock: Callable[[], float] = time.monotonic
    shared: SharedLimits | None = None
    """With it, the limits hold for all replicas together."""

    def __post_init__(self) -> None:
        self._accounts = UsageByCaller(self.limits, self.clock, self.refused)

    @asynccontextmanager
    async def counting(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncIterator[tuple[Receive, Send]]:
        """Count a request or socket while the block serves it, with its bytes. Raise `TooMany`."""
        name = account(of_scope(scope))
        own = self._accounts.of(name)
        with own.open(scope["type"], self.clock()):
            async with self._shared_open(name, scope["type"]):
                if self.limits.bytes:
                    use = self._use(name, own)
                    receive, send = self._received(use, receive), self._sent(use, send)
                yield receive, send

    @asynccontextmanager
    async def _shared_open(self, name: str, kind: Kind) -> AsyncIterator[None]:
        """Count a request or socket for all replicas. Raise `TooMany`."""
        if self.shared is None:
            yield
            return
        answer = await self.shared.enter(name, kind, allowed(self.limits, kind))
        if isinstance(answer, LimitCheck):
            raise too_many(answer, self.limits, kind, self.refused)
        try:
            yield
        finally:
            await self.shared.leave(answer)

    def _use(self, name: str, own: CallerUsage) -> Use:
        def use(amount: int) -> float:
            delay = own.use(amount, self.clock())
            if self.shared is None:
                return delay
            return max(delay, self.shared.use(name, amount, self.limits.bytes))

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
