"""Share links that every replica knows: kept as notes of their runs, in the run log that replicas share.

So a link that one replica made opens the run at all of them, and one that is revoked anywhere ends everywhere
(`open_connections.py` looks every second). Links that an earlier version kept in a file of this process stay
valid here until they expire.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path

import msgspec
from msgspec import Struct

from adk_prism.errors import NotFound, TooMany
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.credentials import digest
from adk_prism.server.identity.share_links import LONGEST, ShareLink, ShareLinks

KIND = "share link"
MOST_OF_A_RUN = 32
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
                await self._log.delete_note(run, KIND, name)
        if sum(kept.expires > now for kept in known.values()) >= MOST_OF_A_RUN:
            raise TooMany("The run has too many share links; revoke some first.", 60)
        token, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        kept = _Kept(digest(token).hex(), creator, now, now + min(lifetime, LONGEST))
        await self._log.put_note(run, KIND, name, msgspec.json.encode(kept))
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
        await self._log.delete_note(run, KIND, link)
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
            notes = (await self._log.notes([run])).get(run, ())
        except NotFound:
            return {}
        return {
            note.key: msgspec.json.decode(note.value, type=_Kept)
            for note in notes
            if note.kind == KIND
        }


def _shown(run: RunId, name: str, kept: _Kept) -> ShareLink:
    return ShareLink(
        id=name, run=run, creator=kept.creator, created=kept.created, expires=kept.expires
    )
