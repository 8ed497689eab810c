"""The run log as readers see it: without the conversations that were deleted.

They are not there as long as they can be restored, and after. A feature can complete what is read
(`features/session_runs`).
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Struct, structs

from adk_prism.adk.apps import is_hidden
from adk_prism.errors import Gone
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.run_state import unknown
from adk_prism.runs.chats import LearnedInvocations

# ---------------------------------------------------------------------------
# Conversations that a user has deleted: hidden at once, and removed when they can no longer be restored.
#
# A deletion is a note under a name of its own, beside the session's notes: those go with the
# session's last run, and a deletion must not be forgotten because retention came first.

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
            await self._log.side.put(_marked(origin), _KIND, "", msgspec.json.encode({"by": by}))
            await self._read()
        return self._known.get(origin, self._clock()) + UNDO

    async def forget(self, origin: Origin) -> bool:
        """Forget a deletion, because it is undone or done; return whether there was one."""
        await self._read()
        was_deleted = origin in self._known
        await self._log.delete(_marked(origin))
        await self._read()
        return was_deleted

    async def due(self) -> list[Origin]:
        """Return the sessions that can no longer be restored."""
        await self._read()
        return [origin for origin, at in self._known.items() if at + UNDO <= self._clock()]

    async def _read(self) -> None:
        marks = await self._log.side.owners(_KIND)
        notes = await self._log.side.list(marks) if marks else {}
        self._known = {_plain(mark): notes[mark][0].time for mark in marks if mark in notes}
        self._read_at = time.monotonic()


def deleted() -> Gone:
    """Return the error of a conversation that was deleted."""
    return Gone("The conversation was deleted.")


def _marked(origin: Origin) -> Origin:
    return structs.replace(origin, session=origin.session + _MARK)


def _plain(marked: Origin) -> Origin:
    return structs.replace(marked, session=marked.session.removesuffix(_MARK))


# ---------------------------------------------------------------------------


@dataclass(eq=False)
class ReadableLog:
    """Reads runs from the log, without those of deleted conversations."""

    log: RunLog
    deletions: Deletions

    def __post_init__(self) -> None:
        log = self.log
        # Everything but reading is the log's own.
        self.attach, self.open, self.close, self.probe = log.attach, log.open, log.close, log.probe
        self.append, self.commit, self.leave = log.append, log.commit, log.leave
        self.trim, self.delete, self.side = log.trim, log.delete, log.side
        self._learned = LearnedInvocations(log)

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; of one session, with their invocations.

        Raise `Gone` for a session that was deleted.
        """
        hidden = await self.deletions.current()
        if Origin(app=app, user=user, session=session) in hidden:
            raise deleted()
        found = await self.log.list(app=app, user=user, session=session, unended=unended)
        known = [
            each for each in found if each.origin not in hidden and not is_hidden(each.origin.app)
        ]
        if unended or not (app and user and session):
            return known
        return [await self._learned.complete(summary) for summary in known]

    async def summary(self, run: RunId) -> RunSummary:
        """Return one run's summary; raise `NotFound` or `Gone`."""
        found = await self._learned.complete(await self.log.summary(run))
        if is_hidden(found.origin.app):
            raise unknown(run)
        await self.deletions.check(found.origin)
        return found

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Give entries past `after`."""
        hidden = await self.deletions.current()
        if hidden and (await self.log.summary(run)).origin in hidden:
            raise deleted()
        async with aclosing(self.log.read(run, after, follow=follow)) as batches:
            async for batch in batches:
                yield batch


# ---------------------------------------------------------------------------
# The actions of people on runs and conversations that belong in an audit log.
#
# This module names the actions; the server knows who does them, and writes the log.

Action = Literal[
    "approval given",
    "approval denied",
    "run cancelled",
    "run forked",
    "run repeated",
    "message taken back",
    "session rewound",
    "session deleted",
    "session restored",
    "artifact deleted",
    "link made",
    "link revoked",
    "run removed",
]


class AuditedAction(Struct, frozen=True, kw_only=True):
    """An action that was done."""

    action: Action
    origin: Origin
    """The session that it was done to."""
    run: str = ""
    about: str = ""
    """What exactly: the approval, the link, the new session, the name of the artifact."""


WriteAudit = Callable[[AuditedAction], Awaitable[None]]
"""Writes an action to the audit log; returns once it is written."""


async def no_audit(action: AuditedAction) -> None:
    """Write nothing: where there is no audit log."""
    del action
