"""Middleware that enforces the limits of callers; pure ASGI, since responses are streams.

A request beyond a limit is refused before it is read, with 429 and `Retry-After`. Bytes are counted both
ways; a caller that used too many waits before it gets more, or before its next WebSocket message is read (a
body is bounded, and is accepted). That delays this caller only: a run never waits for its clients.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from starlette.types import Message, Receive, Scope, Send

from adk_prism.errors import Busy, TooMany
from adk_prism.log.contract import LimitCheck
from adk_prism.runs.session_locks import Refused
from adk_prism.server.identity.caller import Caller, account, of_scope
from adk_prism.server.limits.caller_limits import (
    CallerLimits,
    CallerUsage,
    Kind,
    UsageByCaller,
    allowed,
    too_many,
)
from adk_prism.server.limits.shared_limits import SharedLimits
from adk_prism.server.proxies import TrustedProxies

# ---------------------------------------------------------------------- heavy work
#
# How many large runs are computed at a time: views, films, shared files, messages, threads, comparisons,
# eval cases.
#
# What is computed of a run takes time and memory in proportion to it, and one caller, perhaps with a share
# link, could ask for a large one a hundred times. So of large runs each caller has one at a time and the
# process two; a few requests wait, and any more are refused: 429 to a caller who asks for too much, 503 if
# it is the server that has too much to do, both with `Retry-After`. Small runs, nearly all, are not
# counted.

HEAVY = 1024**2
"""Bytes of runs that are large: below, an answer takes a tenth of a second at most."""
AT_A_TIME = 2
"""In one process: each takes some times its run's size in memory, and they share one interpreter."""
WAITING_OF_CALLER = 4
"""A page asks for the film, the messages and an entry or two of what it opens."""
WAITING = 32
"""Of all callers together: a wait of some ten seconds."""

_LATER = 2.0
"""Seconds after which it is worth asking again."""


class _Own:
    """What one caller is doing."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0


class HeavyWork:
    """Admits requests that compute something of large runs."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._by_caller: dict[str, _Own] = {}
        self._count = 0

    @asynccontextmanager
    async def slot(self, caller: Caller, size: int) -> AsyncIterator[None]:
        """Wait until work on so many bytes of runs may begin. Raise `TooMany` or `Busy`."""
        if size < HEAVY:
            yield
            return
        name = account(caller)
        own = self._by_caller.get(name) or _Own()
        if own.count > WAITING_OF_CALLER:
            raise TooMany(
                "Other large runs are being computed for you; ask again when they are done.", _LATER
            )
        if self._count > AT_A_TIME + WAITING:
            raise Busy("The server is computing other large runs; ask again in a moment.")
        self._by_caller[name] = own
        own.count, self._count = own.count + 1, self._count + 1
        try:
            async with own.lock, self._slots:
                yield
        finally:
            own.count, self._count = own.count - 1, self._count - 1
            if not own.count:
                del self._by_caller[name]


# ---------------------------------------------------------------------- middleware

LONGEST_WAIT = 5.0
"""Seconds that one message waits: far less than the time after which a reader counts as stalled."""

Use = Callable[[int], float]
"""Counts bytes; returns for how long the next ones should wait."""

_SENT = {"http.response.body": ("body",), "websocket.send": ("text", "bytes")}
_RECEIVED = {"http.request": ("body",), "websocket.receive": ("text", "bytes")}


class LimitEnforcer:
    """Enforces the limits of callers."""

    def __init__(
        self,
        limits: CallerLimits,
        refused: Refused,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedLimits | None = None,
    ) -> None:
        """With `shared`, the limits hold for all replicas together."""
        self._limits = limits
        self._shared = shared
        self._refused = refused
        self._clock = clock
        self._counts_bytes = bool(limits.bytes)
        self._accounts = UsageByCaller(limits, clock, refused)

    @asynccontextmanager
    async def counting(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncIterator[tuple[Receive, Send]]:
        """Count a request or socket while the block serves it, with its bytes. Raise `TooMany`."""
        if not any(self._limits):
            yield receive, send
            return
        name = account(of_scope(scope))
        own = self._accounts.of(name)
        with own.open(scope["type"], self._clock()):
            async with self._shared_open(name, scope["type"]):
                if self._counts_bytes:
                    use = self._use(name, own)
                    receive, send = self._received(use, receive), self._sent(use, send)
                yield receive, send

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


# ---------------------------------------------------------------------------
# Limits idle connections of callers that have not authenticated, per address.
#
# A connection needs a descriptor before its first request. An address may have `MOST_WAITING` idle
# connections without authentication; beyond that, those that have waited longest are closed, never
# the newest, so an authenticated caller behind the same address still gets in. A connection counts
# until its caller is authenticated or, without authentication, until its first request. Connections
# of trusted proxies do not count, because all of their clients share the address.
#
# Knows no protocol: the owner of a connection closes it (`drop`). Opening and closing take constant
# time, so a flood of connections does not slow down others.

MOST_WAITING = 64
"""Of one address. A browser opens six to a server; behind a shared address there are dozens of browsers, but
each sends its request at once."""

GRACE = 1.0
"""Seconds that a connection may wait, however many there are: a burst of clients connects before the first of
them has sent anything."""

MOST_AT_ONCE = 512
"""Waiting connections of one address, in their first second too: half of the usual 1,024 descriptors."""

MOST_LINGERING = 32
"""Of one address: connections whose request was answered while its body is still coming."""

_NETWORK = 64
"""Bits of an IPv6 address that identify a caller: who has one address has the whole network."""

Peer = tuple[str, int]


class Connection(Protocol):
    """What owns a connection."""

    def drop(self) -> None:
        """Close it without an answer."""


@dataclass(slots=True)
class _Address:
    """The counted connections of one address."""

    idle: dict[Peer, tuple[Connection, float]] = field(default_factory=dict)
    """Those that ask for nothing, and since when: in that order, so the first has waited longest."""
    answering: dict[Peer, Connection] = field(default_factory=dict)
    """Those whose request is being answered: never closed."""

    def __len__(self) -> int:
        return len(self.idle) + len(self.answering)


class Connections:
    """The connections of one server whose callers are not known."""

    def __init__(
        self, trusted: TrustedProxies, *, until_known: bool, refused: Callable[[str], None]
    ) -> None:
        """`until_known`: callers must authenticate. `refused` counts what was closed."""
        self._trusted = trusted
        self._until_known = until_known
        self._refused = refused
        self._by_address: dict[str, _Address] = {}
        self._sweeps: set[str] = set()
        """Addresses that are checked again soon."""
        self._lingering: dict[str, dict[Peer, Connection]] = {}
        """By address: answered, and the body is still coming."""

    def opened(self, peer: Peer | None, connection: Connection) -> None:
        """Count a connection that was accepted. Others of its address may be closed for it."""
        if peer is None or self._trusted.has(peer[0]):
            return
        address = counted_address(peer[0])
        counted = self._by_address.setdefault(address, _Address())
        counted.idle[peer] = (connection, _now())
        if len(counted) > MOST_AT_ONCE:
            self._close(address, keep=MOST_AT_ONCE, grace=0.0)
        if len(counted) > MOST_WAITING:
            self._sweep_soon(address)

    def asked(self, peer: Peer | None) -> None:
        """Note that a whole request has come on a connection."""
        if not self._until_known:
            self.forget(peer)
        elif peer is not None and (counted := self._of(peer)) is not None:
            waited = counted.idle.pop(peer, None)
            if waited is not None:
                counted.answering[peer] = waited[0]

    def answered(self, peer: Peer | None) -> None:
        """Note that a connection asks for nothing any more."""
        if peer is not None and (counted := self._of(peer)) is not None:
            connection = counted.answering.pop(peer, None)
            if connection is not None:
                counted.idle[peer] = (connection, _now())

    def forget(self, peer: Peer | None) -> None:
        """Stop counting a connection: its caller is known, or it is closed."""
        if peer is None or (counted := self._of(peer)) is None:
            return
        counted.idle.pop(peer, None)
        counted.answering.pop(peer, None)
        if not counted:
            del self._by_address[counted_address(peer[0])]

    def lingers(self, peer: Peer | None, connection: Connection) -> None:
        """Note a connection whose request was answered before its body had come; the oldest may be closed.

        Those of known callers and of proxies count as well: a refused body is of no use to anybody.
        """
        if peer is None:
            return
        waiting = self._lingering.setdefault(counted_address(peer[0]), {})
        waiting[peer] = connection
        while len(waiting) > MOST_LINGERING:
            oldest = next(iter(waiting))
            self._refused("connections")
            waiting.pop(oldest).drop()

    def lingers_no_more(self, peer: Peer | None) -> None:
        """Note that a body has come to its end, or its connection."""
        address = counted_address(peer[0]) if peer is not None else ""
        waiting = self._lingering.get(address)
        if peer is not None and waiting is not None:
            waiting.pop(peer, None)
            if not waiting:
                del self._lingering[address]

    def count(self, host: str) -> int:
        """Return how many connections of an address count."""
        return len(self._by_address.get(counted_address(host), ()))

    def _of(self, peer: Peer) -> _Address | None:
        return self._by_address.get(counted_address(peer[0]))

    def _sweep_soon(self, address: str) -> None:
        if address not in self._sweeps:
            self._sweeps.add(address)
            asyncio.get_running_loop().call_later(GRACE, self._sweep, address)

    def _sweep(self, address: str) -> None:
        self._sweeps.discard(address)
        self._close(address, keep=MOST_WAITING, grace=GRACE)
        if len(self._by_address.get(address, ())) > MOST_WAITING:
            self._sweep_soon(address)

    def _close(self, address: str, *, keep: int, grace: float) -> None:
        """Close those that have waited longest, down to the number that is kept."""
        counted = self._by_address.get(address)
        latest = _now() - grace
        while counted is not None and len(counted) > keep and counted.idle:
            peer, (connection, since) = next(iter(counted.idle.items()))
            if since > latest:
                return
            del counted.idle[peer]
            self._refused("connections")
            connection.drop()


@lru_cache(maxsize=1024)
def counted_address(host: str) -> str:
    """Return the address or network under which a host is counted."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK), strict=False))


def _now() -> float:
    return asyncio.get_running_loop().time()
