"""Connections of callers that have not said who they are: how many one address may keep waiting.

A connection costs a descriptor before it has asked for anything. An address may have `MOST_WAITING` that are
not known and ask for nothing; of more, those that have waited longest are closed, never the newest: a known
caller behind the same address is still let in. A connection counts until its caller is known; where nobody
has to be, until its first request has come. Connections of trusted proxies do not count, since all of their
clients share the address.

Knows no protocol: whoever owns a connection says what becomes of it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Protocol

from adk_prism.server.guards.forwarded import TrustedProxies

MOST_WAITING = 64
"""Of one address. A browser opens six to a server; behind a shared address there are dozens of browsers, but
each sends its request at once."""

GRACE = 1.0
"""Seconds that a connection may wait, however many there are: a burst of clients connects before the first of
them has sent anything."""

MOST_AT_ONCE = 512
"""Waiting connections of one address, in their first second too: half of the usual 1,024 descriptors."""

_NETWORK = 64
"""Bits of an IPv6 address that tell callers apart: whoever has one address has the whole network."""

Peer = tuple[str, int]


class Connection(Protocol):
    """What owns a connection."""

    def drop(self) -> None:
        """Close it without a word."""


class _Waiting:
    """A connection that is not known, and since when it asks for nothing; None while it is answered."""

    __slots__ = ("connection", "since")

    def __init__(self, connection: Connection, since: float | None) -> None:
        self.connection = connection
        self.since = since


class Connections:
    """The connections of one server whose callers are not known."""

    def __init__(
        self, trusted: TrustedProxies, *, until_known: bool, refused: Callable[[str], None]
    ) -> None:
        """`until_known`: callers have to say who they are. `refused` counts what was closed."""
        self._trusted = trusted
        self._until_known = until_known
        self._refused = refused
        self._by_address: dict[str, dict[Peer, _Waiting]] = {}
        self._sweeps: set[str] = set()
        """Addresses that are looked at again soon."""

    def opened(self, peer: Peer | None, connection: Connection) -> None:
        """Take a connection that was accepted. Others of its address may be closed for it."""
        if peer is None or self._trusted.has(peer[0]):
            return
        address = _address(peer[0])
        waiting = self._by_address.setdefault(address, {})
        waiting[peer] = _Waiting(connection, _now())
        if len(waiting) > MOST_AT_ONCE:
            self._close(address, keep=MOST_AT_ONCE, grace=0.0)
        if len(waiting) > MOST_WAITING:
            self._sweep_soon(address)

    def asked(self, peer: Peer | None) -> None:
        """Note that a whole request has come on a connection."""
        if not self._until_known:
            self.forget(peer)
        elif (found := self._find(peer)) is not None:
            found.since = None

    def answered(self, peer: Peer | None) -> None:
        """Note that a connection asks for nothing any more."""
        if (found := self._find(peer)) is not None:
            found.since = _now()

    def forget(self, peer: Peer | None) -> None:
        """Count a connection no longer: its caller is known, or it is closed."""
        if peer is None:
            return
        address = _address(peer[0])
        waiting = self._by_address.get(address, {})
        waiting.pop(peer, None)
        if not waiting:
            self._by_address.pop(address, None)

    def count(self, host: str) -> int:
        """Return how many connections of an address count."""
        return len(self._by_address.get(_address(host), ()))

    def _find(self, peer: Peer | None) -> _Waiting | None:
        return None if peer is None else self._by_address.get(_address(peer[0]), {}).get(peer)

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
        """Close those that have waited longest, up to the number that is kept."""
        waiting = self._by_address.get(address, {})
        latest = _now() - grace
        idle = [
            (each.since, peer, each)
            for peer, each in waiting.items()
            if each.since is not None and each.since <= latest
        ]
        excess = max(0, len(waiting) - keep)
        for _, peer, each in sorted(idle, key=lambda item: item[0])[:excess]:
            del waiting[peer]
            self._refused("connections")
            each.connection.drop()


def _address(host: str) -> str:
    """Return whom an address stands for."""
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
