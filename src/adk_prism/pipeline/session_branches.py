"""Which branch of a chat's turns its session has: changed for a run, and put right if that was cut off.

A change takes several steps, and the run that it is made for is in the log only after the last one. So it is
noted beside the log before the first. If that run is not in the log, the process died in between, or a step
failed: then whoever uses the session next undoes the change, and finds what the log says. Results that were
stored without their run are settled at the same time (`stored_results`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.pipeline.branch_change import BranchChange
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.session_locks import Policy, SessionLocks
from adk_prism.pipeline.stored_results import KIND as RESULTS
from adk_prism.pipeline.stored_results import StoredResults
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.runlog.notes import Note
from adk_prism.source.apps import Apps
from adk_prism.source.history import first_live
from adk_prism.source.undo_rewind import bring_back, find_version, version_at

KIND = "branch change"


class _Noted(Struct, frozen=True):
    """A change of a session. The key of its note is the run that it is made for."""

    last: str
    """The last event before it."""
    invocation: str
    """The first one that it rewinds or brings back."""
    first: str
    """The run before which the session has the right state, if it is rewound to that."""


class SessionBranches:
    """Changes sessions for runs that are about to begin."""

    def __init__(self, log: RunLog, apps: Apps, chats: Chats, locks: SessionLocks) -> None:
        self._log = log
        self._apps = apps
        self._chats = chats
        self._locks = locks
        self.results = StoredResults(log, apps)

    async def change(self, origin: Origin, run: RunId, change: BranchChange) -> None:
        """Rewind a locked session to what is kept of it, and bring back what was rewound before.

        Raise `Conflict`, before anything has changed, if the session does not have that any more.
        """
        await self.settle_locked(origin)
        sessions = self._apps.sessions(origin.app)
        runner = self._apps.runner(origin.app, "rewind")
        events = (await sessions.get(origin)).events
        # A run can fail before ADK has stored its message: then there is nothing of it to rewind.
        first = rewound = first_live(events, change.rewound)
        version = None
        if change.returning:
            wanted = change.wanted(frozenset(event.invocation_id for event in events))
            version = find_version(events, wanted, change.known, rewound)
            first = rewound or next((event.invocation_id for event in version.events), "")
        if first:
            await self.begin(origin, run, events[-1].id, first, change.first)
        if rewound:
            state = await self._chats.state_before(change.first)
            await sessions.rewind(runner, origin, rewound, state)
        if version is not None:
            await bring_back(runner, origin, version)

    async def begin(
        self, origin: Origin, run: RunId, last: str, invocation: str, first: str
    ) -> None:
        """Note a change of a locked session for a run; `_Noted` explains the rest."""
        noted = msgspec.json.encode(_Noted(last, invocation, first))
        await self._log.put_note(origin, KIND, run, noted)

    async def settle(self, origin: Origin, policy: Policy = "wait") -> None:
        """Undo a change that was cut off, if there is one: only then the session is locked.

        Raise `Conflict` where policy refuses to wait for one that is being made.
        """
        if not any(await self._unfinished(origin)):
            return
        await self._locks.acquire(origin, policy, _stop_nothing)
        try:
            await self.settle_locked(origin)
        finally:
            await self._locks.release(origin)

    async def settle_locked(self, origin: Origin) -> None:
        """Undo a change that was cut off, if there is one, of a session that the caller has locked."""
        notes, results = await self._unfinished(origin)
        if notes:
            # What was begun after the first began with a session that was wrong already.
            await self._undo(origin, msgspec.json.decode(notes[0].value, type=_Noted))
            for note in notes:
                await self._log.delete_note(origin, KIND, note.key)
        if results:
            await self.results.settle(origin, results)

    async def _unfinished(self, origin: Origin) -> tuple[Sequence[Note], Sequence[Note]]:
        """Return the notes of changes, and of stored results, whose run is not in the log, oldest first.

        Remove the others.
        """
        found = (await self._log.notes([origin])).get(origin, ())
        unfinished: dict[str, list[Note]] = {KIND: [], RESULTS: []}
        ours = (note for note in found if note.kind in unfinished)
        for note in sorted(ours, key=lambda note: note.time):
            if await self._is_recorded(origin, RunId(note.key)):
                await self._log.delete_note(origin, note.kind, note.key)
            else:
                unfinished[note.kind].append(note)
        return unfinished[KIND], unfinished[RESULTS]

    async def _is_recorded(self, origin: Origin, run: RunId) -> bool:
        try:
            await self._log.summary(run)
        except NotFound:
            return False
        except Gone:  # It was, until retention removed it.
            return True
        except LogError:
            # Its start could not be stored. Or nothing can be read: then this raises the same.
            runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
            return any(each.run == run for each in runs)
        return True

    async def _undo(self, origin: Origin, noted: _Noted) -> None:
        sessions = self._apps.sessions(origin.app)
        try:
            events = (await sessions.get(origin)).events
        except NotFound:  # Deleted since.
            return
        version = version_at(events, noted.last, noted.invocation)
        if version is None:
            return
        # A change of state needs no app, so this may be the first that does.
        runner = (await self._apps.open(origin.app)).runner("rewind")
        if events[-1].id != noted.last:
            state = await self._state_before(noted.first)
            await sessions.rewind(runner, origin, noted.invocation, state, again=True)
        await bring_back(runner, origin, version)

    async def _state_before(self, run: str) -> dict[str, msgspec.Raw] | None:
        try:
            return await self._chats.state_before(RunId(run)) if run else None
        except (NotFound, Gone):  # Removed since.
            return None


def _stop_nothing() -> None:
    """Do nothing: an undone change cannot be stopped halfway."""
