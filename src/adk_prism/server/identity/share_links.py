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
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from adk_prism.errors import LogError, NotFound, TooMany
from adk_prism.runlog.entry import RunId
from adk_prism.runlog.private_files import make_file, make_folder
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.credentials import digest

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
