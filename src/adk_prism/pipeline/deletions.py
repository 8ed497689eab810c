"""Conversations that a user has deleted: hidden at once, and removed when they can no longer be restored.

A deletion is a note under a name of its own, beside the session's notes: those go with the session's last
run, and a deletion must not be forgotten because retention came first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import structs

from adk_prism.errors import Gone
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin

UNDO = 15 * 60.0
"""Seconds for which a conversation can be restored: a slip is noticed within minutes."""

FRESH = 1.0
"""Seconds for which what was read counts. Only another process can have changed it meanwhile."""

_KIND = "deletion"
_MARK = "\0deleted"
"""No session id contains a NUL."""


class Deletions:
    """Knows which conversations are deleted."""

    def __init__(self, log: RunLog, clock: Callable[[], float] = time.time) -> None:
        self._log = log
        self._clock = clock
        self._known: Mapping[Origin, float] = {}
        self._read_at = -math.inf

    async def current(self) -> Mapping[Origin, float]:
        """Return the deleted sessions, and when they were deleted. Raise `LogError`."""
        if time.monotonic() - self._read_at > FRESH:
            await self._read()
        return self._known

    async def check(self, origin: Origin) -> None:
        """Raise `Gone` for a deleted session."""
        if origin in await self.current():
            raise deleted()

    async def delete(self, origin: Origin, by: str) -> float:
        """Delete a session; return until when it can be restored. A second time changes nothing."""
        await self._read()
        if origin not in self._known:
            await self._log.put_note(_marked(origin), _KIND, "", msgspec.json.encode({"by": by}))
            await self._read()
        return self._known.get(origin, self._clock()) + UNDO

    async def forget(self, origin: Origin) -> bool:
        """Forget a deletion, because it is undone or done; return whether there was one."""
        await self._read()
        was_deleted = origin in self._known
        await self._log.delete_session(_marked(origin))
        await self._read()
        return was_deleted

    async def due(self) -> list[Origin]:
        """Return the sessions that can no longer be restored."""
        await self._read()
        return [origin for origin, at in self._known.items() if at + UNDO <= self._clock()]

    async def _read(self) -> None:
        marks = await self._log.noted(_KIND)
        notes = await self._log.notes(marks) if marks else {}
        self._known = {_plain(mark): notes[mark][0].time for mark in marks if mark in notes}
        self._read_at = time.monotonic()


def deleted() -> Gone:
    """Return the error of a conversation that was deleted."""
    return Gone("The conversation was deleted.")


def _marked(origin: Origin) -> Origin:
    return structs.replace(origin, session=origin.session + _MARK)


def _plain(marked: Origin) -> Origin:
    return structs.replace(marked, session=marked.session.removesuffix(_MARK))
