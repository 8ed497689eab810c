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
from hmac import compare_digest
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from msgspec import Struct

from adk_prism.errors import LogError, NotFound, TooMany
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import make_file, make_folder
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.methods import digest
from adk_prism.server.settings import Settings

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
# everywhere (`OpenConnections` looks every second). Links that an earlier version kept in a file of
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


def open_links(settings: Settings, log: RunLog) -> ShareLinks:
    """Return the links of a server with these settings, and this run log."""
    file = file_of(settings.log, Path(settings.data_dir).absolute())
    return SharedLinks(log, file) if settings.has_shared_log else ShareLinks(file)
