"""Results of client tools that are stored for the next message: noted before, so that none is stored twice.

The session gets the results first, the log their run after that. If the process dies in between, the log
says that the calls still wait, and a client that sends the results again would have them stored again. So the
start of the run is noted beside the log before the first result is stored. Whoever uses the session next
writes the run into the log, with those of the results that the session has; the others still wait.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from adk_prism.errors import NotFound
from adk_prism.facts.run_reader import Reader
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Entry, Origin, RunEnded, RunId, RunStarted
from adk_prism.runlog.notes import Note
from adk_prism.source.apps import Apps
from adk_prism.source.history import live_events, user_responses

KIND = "stored results"


class StoredResults:
    """Completes what was cut off."""

    def __init__(self, log: RunLog, apps: Apps) -> None:
        self._log = log
        self._apps = apps

    async def note(self, head: RunStarted) -> None:
        """Note that a locked session is about to get the results of a run that is not in the log yet."""
        await self._log.put_note(head.origin, KIND, head.run, msgspec.json.encode(head))

    async def settle(self, origin: Origin, notes: Sequence[Note]) -> None:
        """Write the runs of some notes, which the log lacks, for a locked session; remove the notes."""
        for note in notes:
            head = msgspec.json.decode(note.value, type=RunStarted)
            stored = await self._stored(origin)
            answers = head.continues.answers if head.continues is not None else {}
            ids = head.continues.adk_ids if head.continues is not None else {}
            kept = {call: value for call, value in answers.items() if ids.get(call, call) in stored}
            if kept and head.continues is not None:
                continues = structs.replace(head.continues, answers=kept)
                await self._write(structs.replace(head, continues=continues))
            await self._log.delete_note(origin, KIND, note.key)

    async def _stored(self, origin: Origin) -> frozenset[str]:
        """Return the calls that the user has answered in a session."""
        try:
            session = await self._apps.sessions(origin.app).get(origin)
        except NotFound:  # Deleted since.
            return frozenset()
        return user_responses(live_events(session))

    async def _write(self, head: RunStarted) -> None:
        reader = Reader()
        reader.feed(Entry(1, 0.0, head))
        outcome, code = reader.outcome()
        run = RunId(head.run)
        # Together: nobody finds it without its end.
        await self._log.append(run, [head, RunEnded(outcome=outcome, code=code)])
        await self._log.commit(run)
        await self._log.leave(run)
