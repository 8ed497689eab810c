"""One-time tickets, with which a browser opens a stream or a socket without an `Authorization` header.

`EventSource` and `WebSocket` send none of a page's own headers, and a token in a URL ends up in logs. So a
client requests, with its token, a ticket for one URL, and opens that URL with `?ticket=…`. A ticket is
valid once, for some seconds, for the URL that it was created for, and authenticates the user who requested
it. The first attempt uses it up, even with a wrong URL. `Tickets` keeps them in this process; if several
processes share a run log, `SharedTickets` stores them there.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from adk_prism.errors import TooMany, UsageError
from adk_prism.runlog.short_lived_values import ShortLivedValues
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.credentials import digest

LIFETIME = 30.0
"""Seconds: a slow network's time to open a connection."""
MOST_OF_A_USER = 64
MOST = 10_000
"""Of all users: a few megabytes."""
LONGEST_URL = 4096

Place = tuple[str, tuple[tuple[str, str], ...]]
"""A path, and its query's parameters in order of name."""


class TicketOffice(Protocol):
    """Issues and redeems tickets."""

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket for a place. Raise `TooMany` or `LogError`."""

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""


class _Ticket(Struct, frozen=True):
    place: Place
    caller: Principal
    until: float


class Tickets:
    """The unused tickets of one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[bytes, _Ticket] = {}
        self._held: Counter[str] = Counter()

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket for a place. Raise `TooMany` for a caller with too many unused tickets."""
        self._forget_old()
        if self._held[caller.user] >= MOST_OF_A_USER or len(self._tickets) >= MOST:
            raise TooMany("Too many unused tickets; each is valid for 30 seconds.", LIFETIME)
        ticket = secrets.token_urlsafe(32)
        self._tickets[digest(ticket)] = _Ticket(place, caller, self._clock() + LIFETIME)
        self._held[caller.user] += 1
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""
        self._forget_old()
        name = digest(ticket)
        found = self._tickets.get(name)
        if found is None:
            return None
        self._drop(name, found)
        return found.caller if found.place == place else None

    def _forget_old(self) -> None:
        """Drop expired tickets: the oldest come first, because all have the same lifetime."""
        now = self._clock()
        while self._tickets:
            name, ticket = next(iter(self._tickets.items()))
            if ticket.until > now:
                return
            self._drop(name, ticket)

    def _drop(self, name: bytes, ticket: _Ticket) -> None:
        del self._tickets[name]
        self._held[ticket.caller.user] -= 1
        if not self._held[ticket.caller.user]:
            del self._held[ticket.caller.user]


def place_of(path: str, query: str) -> Place:
    """Return what a URL names, however its parameters are ordered and escaped."""
    return path, tuple(sorted(parse_qsl(query, keep_blank_values=True)))


def place_of_url(url: str, root: str) -> Place:
    """Read the URL that a ticket is for, without this server's prefix. Raise `UsageError`."""
    if len(url) > LONGEST_URL or not url.startswith("/") or url.startswith("//"):
        raise UsageError("`url` must be a path of this server, such as /api/runs/run-1/stream.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("`url` is not a valid URL.") from None
    path = parts.path.removeprefix(root) if root else parts.path
    return place_of(path, parts.query)


class _Kept(Struct, frozen=True):
    place: Place
    caller: Principal


class SharedTickets:
    """Tickets that are valid at every replica, stored with the run log.

    Their number is limited by their lifetime and the callers' rate limits.
    """

    def __init__(self, store: ShortLivedValues) -> None:
        self._store = store

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket for a place. Raise `LogError`."""
        ticket = secrets.token_urlsafe(32)
        kept = msgspec.json.encode(_Kept(place, caller))
        await self._store.put(_name(ticket), kept, LIFETIME)
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""
        found = await self._store.take(_name(ticket))
        kept = msgspec.json.decode(found, type=_Kept) if found is not None else None
        return kept.caller if kept is not None and kept.place == place else None


def _name(ticket: str) -> str:
    return f"ticket:{digest(ticket).hex()}"
