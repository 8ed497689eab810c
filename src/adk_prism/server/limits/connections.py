"""Limits idle connections of callers that have not authenticated, per address.

A connection needs a descriptor before its first request. An address may have `MOST_WAITING` idle
connections without authentication; beyond that, those that have waited longest are closed, never the
newest, so an authenticated caller behind the same address still gets in. A connection counts until its
caller is authenticated or, without authentication, until its first request. Connections of trusted proxies
do not count, because all of their clients share the address.

Knows no protocol: the owner of a connection closes it (`drop`). Opening and closing take constant time, so a
flood of connections does not slow down others.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from adk_prism.server.guards.forwarded_headers import TrustedProxies

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
