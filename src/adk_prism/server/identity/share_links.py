"""Share links: read access to one run, until the link expires or is revoked.

A link has its own token. Only the token's digest is stored, in a small SQLite file beside the run log, so
links survive a restart and can be listed and revoked, but not shown again. Revoking a link closes its open
streams.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hmac import compare_digest
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from adk_prism.errors import LogError, NotFound, TooMany, UsageError
from adk_prism.log.contract import RunLog, ShortLivedValues
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import make_file, make_folder
from adk_prism.server.identity.caller import Guest, Principal
from adk_prism.server.identity.methods import digest

LIFETIME = 7 * 24 * 3600.0
"""Default, in seconds: a week."""
LONGEST = 90 * 24 * 3600.0
MOST_OF_A_RUN = 50

_SCHEMA = """
CREATE TABLE IF NOT EXISTS links (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    run TEXT NOT NULL,
    creator TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS links_of_run ON links (run);
"""

T = TypeVar("T")


class ShareLink(Struct, frozen=True, kw_only=True):
    """A link as its owner sees it."""

    id: str
    run: RunId
    creator: str
    created: float
    expires: float


class ShareLinks:
    """The links of one server."""

    def __init__(self, file: Path | None, clock: Callable[[], float] = time.time) -> None:
        """`file` stores them (default: memory). It is created with the first link."""
        self._file = file
        self._clock = clock
        self._store: sqlite3.Connection | None = None
        self._lock = Lock()
        self._revoked: Callable[[str], None] = lambda _: None

    def on_revoked(self, act: Callable[[str], None]) -> None:
        """Call a function with each link that is revoked here."""
        self._revoked = act

    @asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """Close the file when the block ends."""
        try:
            yield
        finally:
            await asyncio.to_thread(self._close)

    async def create(self, run: RunId, creator: str, lifetime: float) -> tuple[ShareLink, str]:
        """Return a new link and its token, which cannot be shown again. Raise `TooMany`."""
        token, now = secrets.token_urlsafe(32), self._clock()
        link = ShareLink(
            id=secrets.token_hex(8),
            run=run,
            creator=creator,
            created=now,
            expires=now + min(lifetime, LONGEST),
        )
        await asyncio.to_thread(self._insert, link, token)
        return link, token

    async def of_run(self, run: RunId) -> list[ShareLink]:
        """Return a run's valid links."""
        if self._is_unused():
            return []
        return await asyncio.to_thread(self._of_run, run)

    async def revoke(self, run: RunId, link: str) -> None:
        """Revoke a link and close its open streams. Raise `NotFound`."""
        if self._is_unused() or not await asyncio.to_thread(self._delete, run, link):
            raise NotFound("This run has no such share link.")
        self._revoked(link)

    async def guest(self, token: str, run: RunId) -> Guest | None:
        """Return the guest of a link's token; None if it is unknown, expired or of another run."""
        del run  # Tokens are found by themselves; the caller compares the run.
        if self._is_unused():
            return None
        found = await asyncio.to_thread(self._find, token)
        return found if found and found.expires > self._clock() else None

    async def is_valid(self, guest: Guest) -> bool:
        """Return whether a guest's link is still there."""
        if guest.expires <= self._clock():
            return False
        return any(link.id == guest.link for link in await self.of_run(guest.run))

    # ------------------------------------------------------------------ the store, in a thread

    def _is_unused(self) -> bool:
        """Return whether no link was ever created: then no file is opened."""
        return self._store is None and (self._file is None or not self._file.is_file())

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._lock:
                if self._store is None:
                    self._store = self._connect()
                with self._store:
                    return work(self._store)
        except (sqlite3.Error, OSError) as error:
            raise LogError("The share links cannot be read or written.") from error

    def _connect(self) -> sqlite3.Connection:
        if self._file is not None:
            make_folder(self._file.parent)
            make_file(self._file)
        store = sqlite3.connect(self._file or ":memory:", check_same_thread=False)
        store.executescript(_SCHEMA)
        return store

    def _close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _insert(self, link: ShareLink, token: str) -> None:
        def work(store: sqlite3.Connection) -> None:
            store.execute("DELETE FROM links WHERE expires <= ?", (link.created,))
            (count,) = store.execute(
                "SELECT count(*) FROM links WHERE run = ?", (link.run,)
            ).fetchone()
            if count >= MOST_OF_A_RUN:
                raise TooMany("The run has too many share links; revoke some first.", 60)
            row = (link.id, digest(token), link.run, link.creator, link.created, link.expires)
            store.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", row)

        self._do(work)

    def _of_run(self, run: RunId) -> list[ShareLink]:
        query = (
            "SELECT id, run, creator, created, expires FROM links"
            " WHERE run = ? AND expires > ? ORDER BY created"
        )
        rows = self._do(lambda store: store.execute(query, (run, self._clock())).fetchall())
        names = ShareLink.__struct_fields__
        return [ShareLink(**dict(zip(names, row, strict=True))) for row in rows]

    def _delete(self, run: RunId, link: str) -> bool:
        query = "DELETE FROM links WHERE run = ? AND id = ?"
        return self._do(lambda store: store.execute(query, (run, link)).rowcount) > 0

    def _find(self, token: str) -> Guest | None:
        query = "SELECT run, id, expires FROM links WHERE digest = ?"
        row = self._do(lambda store: store.execute(query, (digest(token),)).fetchone())
        return Guest(*row) if row else None


def file_of(log: str, data_dir: Path) -> Path | None:
    """Return the file for the links of a server with this run log; None: memory."""
    scheme, _, rest = log.partition(":")
    if scheme == "memory":
        return None
    if scheme == "sqlite":
        path = Path(rest.partition("?")[0].removeprefix("///")).absolute()
        return path.with_name(f"{path.stem}-links.db")
    return data_dir / "links.db"


# ---------------------------------------------------------------------- links of several processes
#
# Share links that every replica knows: kept as notes of their runs, in the run log that replicas share.
#
# So a link that one replica made opens the run at all of them, and one that is revoked anywhere ends
# everywhere (`open_connections.py` looks every second). Links that an earlier version kept in a file of
# this process stay valid here until they expire.

KIND = "share link"
MOST_NOTES_OF_A_RUN = 32
"""Half of the notes that a run may have: the rest is for what people say about it."""


class _Kept(Struct, frozen=True):
    """A link as it is stored. Its token is not."""

    digest: str
    creator: str
    created: float
    expires: float


class SharedLinks(ShareLinks):
    """The links of all replicas."""

    def __init__(
        self, log: RunLog, file: Path | None, clock: Callable[[], float] = time.time
    ) -> None:
        """`file` has the links of an earlier version."""
        super().__init__(file if file is not None and file.is_file() else None, clock)
        self._log = log

    async def create(self, run: RunId, creator: str, lifetime: float) -> tuple[ShareLink, str]:
        """Return a new link and its token, which cannot be shown again. Raise `TooMany`, or `NotFound`."""
        now = self._clock()
        known = await self._kept(run)
        for name, kept in known.items():
            if kept.expires <= now:
                await self._log.side.delete(run, KIND, name)
        if sum(kept.expires > now for kept in known.values()) >= MOST_NOTES_OF_A_RUN:
            raise TooMany("The run has too many share links; revoke some first.", 60)
        token, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        kept = _Kept(digest(token).hex(), creator, now, now + min(lifetime, LONGEST))
        await self._log.side.put(run, KIND, name, msgspec.json.encode(kept))
        return _shown(run, name, kept), token

    async def of_run(self, run: RunId) -> list[ShareLink]:
        """Return a run's valid links."""
        now = self._clock()
        kept = (await self._kept(run)).items()
        own = [_shown(run, name, each) for name, each in kept if each.expires > now]
        return sorted([*own, *await super().of_run(run)], key=lambda link: link.created)

    async def revoke(self, run: RunId, link: str) -> None:
        """Revoke a link and close its open streams. Raise `NotFound`."""
        if link not in await self._kept(run):
            await super().revoke(run, link)
            return
        await self._log.side.delete(run, KIND, link)
        self._revoked(link)

    async def guest(self, token: str, run: RunId) -> Guest | None:
        """Return the guest of a link's token; None if it is unknown, expired or of another run."""
        wanted = digest(token).hex()
        for name, kept in (await self._kept(run)).items():
            if compare_digest(kept.digest, wanted):
                return Guest(run, name, kept.expires) if kept.expires > self._clock() else None
        return await super().guest(token, run)

    async def _kept(self, run: RunId) -> dict[str, _Kept]:
        """Return a run's links; none for a run that is not in the log. Raise `LogError`."""
        try:
            notes = (await self._log.side.list([run])).get(run, ())
        except NotFound:
            return {}
        return {
            note.key: msgspec.json.decode(note.value, type=_Kept)
            for note in notes
            if note.space == KIND
        }


def _shown(run: RunId, name: str, kept: _Kept) -> ShareLink:
    return ShareLink(
        id=name, run=run, creator=kept.creator, created=kept.created, expires=kept.expires
    )


# ---------------------------------------------------------------------------
# One-time tickets, with which a browser opens a stream or a socket without an `Authorization` header.
#
# `EventSource` and `WebSocket` send none of a page's own headers, and a token in a URL ends up in
# logs. So a client requests, with its token, a ticket for one URL, and opens that URL with
# `?ticket=…`. A ticket is valid once, for some seconds, for the URL that it was created for, and
# authenticates the user who requested it. The first attempt uses it up, even with a wrong URL.
# `Tickets` keeps them in this process; if several processes share a run log, `SharedTickets` stores
# them there.

TICKET_LIFETIME = 30.0
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
            raise TooMany("Too many unused tickets; each is valid for 30 seconds.", TICKET_LIFETIME)
        ticket = secrets.token_urlsafe(32)
        self._tickets[digest(ticket)] = _Ticket(place, caller, self._clock() + TICKET_LIFETIME)
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


class _KeptTicket(Struct, frozen=True):
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
        kept = msgspec.json.encode(_KeptTicket(place, caller))
        await self._store.put(_name(ticket), kept, TICKET_LIFETIME)
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""
        found = await self._store.take(_name(ticket))
        kept = msgspec.json.decode(found, type=_KeptTicket) if found is not None else None
        return kept.caller if kept is not None and kept.place == place else None


def _name(ticket: str) -> str:
    return f"ticket:{digest(ticket).hex()}"
