"""One-time tickets: how a browser opens a stream or a socket that can carry no header.

`EventSource` and `WebSocket` send none of a page's own headers, and a token in a URL ends up in logs. So
a client asks, with its token, for a ticket to one URL, and opens that URL with `?ticket=…`. A ticket is
used once, within seconds, for the URL it was made for, and stands for whoever asked for it. It is spent
by the first attempt, also by a wrong one. `Tickets` live in this process, as long as their half minute; where
several share a run log, `shared_tickets` keeps them there.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from adk_prism.errors import TooMany, UsageError
from adk_prism.server.identity.caller import Principal

LIFETIME = 30.0
"""Seconds: a slow network's time to open a connection."""
MOST_OF_A_USER = 64
MOST = 10_000
"""Of all users: a few megabytes."""
LONGEST_URL = 4096

Place = tuple[str, tuple[tuple[str, str], ...]]
"""A path, and its query's parameters in order of name."""


class TicketOffice(Protocol):
    """Gives tickets out, and takes them."""

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket to a place. Raise `TooMany` or `LogError`."""

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Spend a ticket; return who asked for it, or None if it is not good here and now."""


class _Ticket(Struct, frozen=True):
    place: Place
    caller: Principal
    until: float


class Tickets:
    """The tickets of one server that are not spent yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[bytes, _Ticket] = {}
        self._held: Counter[str] = Counter()

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket to a place. Raise `TooMany` for a caller who asks and does not come."""
        self._forget_old()
        if self._held[caller.user] >= MOST_OF_A_USER or len(self._tickets) >= MOST:
            raise TooMany("Too many unused tickets; each is valid for 30 seconds.", LIFETIME)
        ticket = secrets.token_urlsafe(32)
        self._tickets[digest(ticket)] = _Ticket(place, caller, self._clock() + LIFETIME)
        self._held[caller.user] += 1
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Spend a ticket; return who asked for it, or None if it is not good here and now."""
        self._forget_old()
        name = digest(ticket)
        found = self._tickets.get(name)
        if found is None:
            return None
        self._drop(name, found)
        return found.caller if found.place == place else None

    def _forget_old(self) -> None:
        """Drop what is too old: the oldest come first, as all live equally long."""
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


def digest(ticket: str) -> bytes:
    """Return what is kept of a ticket: it cannot be used by who reads it."""
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).digest()


def place_of(path: str, query: str) -> Place:
    """Return what a URL names, however its parameters are ordered and escaped."""
    return path, tuple(sorted(parse_qsl(query, keep_blank_values=True)))


def place_of_url(url: str, root: str) -> Place:
    """Read the URL a ticket is wanted for, without this server's prefix. Raise `UsageError`."""
    if len(url) > LONGEST_URL or not url.startswith("/") or url.startswith("//"):
        raise UsageError("`url` must be a path of this server, such as /api/runs/run-1/stream.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("`url` is not a valid URL.") from None
    path = parts.path.removeprefix(root) if root else parts.path
    return place_of(path, parts.query)
