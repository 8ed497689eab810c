"""Runs that recorders in other processes send, piece by piece, while they happen.

What a recorder says is untrusted input, held to the rules for uploads: the run is marked as foreign, its
session is only a name that no chat can have, and nothing in it is resumed or answered. A piece that was sent
before is accepted and not stored again, so a recorder repeats whatever was not acknowledged.

No process owns such a run: pieces may come to any replica, one at a time. A recorder that has nothing to send
says that it is still there. A run of which nothing was heard for too long fails with `owner_lost`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Header, Request, Response
from msgspec import structs
from msgspec.structs import replace

from adk_prism import errors
from adk_prism.adk.request import CallRecorder
from adk_prism.facts.nodes import node_ends
from adk_prism.features.captures.recording_file import read_part
from adk_prism.features.captures.routes import as_upload, check_type, cleaned, safe_names
from adk_prism.features.model_calls.writer import append_foreign
from adk_prism.features.recorder.sender import recorded_run, recorded_session
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.coordination import ExpiringValues
from adk_prism.runs.recorder import OWNER_LOST
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.server.identity.caller import Caller, account, caller_of, recorded_user
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.run_streams import RUN_HEADER

LOST = 90.0
"""Seconds of silence after which a recorder is lost: several times its pause between two signs of life, and
longer than a server takes to restart."""

MOST_OPEN, MOST_OPEN_OF_A_CALLER = 10_000, 500
"""Recorded runs that are open at a time, of all callers and of one: each costs a few kilobytes."""

AGAIN = 30.0
"""Seconds for `Retry-After` where too many are open."""

Named = Callable[[records.Origin], records.Origin]
"""Returns an origin with the names that the sender may use here."""

RECORDED_SESSION: records.Label[str] = records.Label("recorded_session", str, "")
"""Of a run that a recorder sent: the session's name where it happened."""


class _Heard(NamedTuple):
    """When a run was last heard of, and how long it was then."""

    cursor: int
    time: float
    by: str
    """The caller who sends it."""


class RecordedRuns:
    """Takes the runs of recorders."""

    def __init__(
        self,
        log: RunLog,
        locks: SessionLocks,
        report: errors.Report,
        *,
        most_bytes: int,
        calls: CallRecorder | None = None,
        marks: ExpiringValues | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`locks` keeps pieces of one run apart; `marks` tells other processes who was heard of; `calls`
        stores model calls."""
        self._log = log
        self._locks = locks
        self._report = report
        self._most_bytes = most_bytes
        self._calls = calls
        self._marks = marks
        self._clock = clock
        self._heard: dict[records.RunId, _Heard] = {}

    async def append(self, run: records.RunId, body: bytes, named: Named, by: str = "") -> int:
        """Take a piece of a run: lines of a recording, or nothing. Return the last cursor that is stored.

        `by` is the caller, whose open runs are counted.

        Raise `Unprocessable` for what cannot be read, `Conflict` for a piece that does not continue the run,
        `NotFound` for another user's run, `TooLarge`, `TooMany`, `Gone`, `LogError`. Nothing of it is stored
        then.
        """
        try:
            entries = await asyncio.to_thread(_read, body)
        except errors.SourceError as error:
            raise errors.Unprocessable(f"{error.detail} Nothing was stored.") from None
        async with self._locks.held(_lock(run)):
            summary = await self._summary(run)
            if summary is None:
                return await self._begin(run, entries, len(body), named, by)
            if named(summary.origin).user != summary.origin.user:
                raise errors.NotFound("There is no such run of this user.")
            return await self._continue(summary, entries, len(body), by)

    async def _summary(self, run: records.RunId) -> RunSummary | None:
        try:
            # A request that was cut may have left something uncommitted.
            await self._log.commit(run)
            return await self._log.summary(run)
        except errors.NotFound:
            return None

    async def _begin(
        self, run: records.RunId, entries: Sequence[records.Entry], size: int, named: Named, by: str
    ) -> int:
        head = entries[0].record if entries else None
        if not isinstance(head, records.RunStarted):
            raise errors.Conflict(
                "The run is not known here (any more); it has to be sent from its start."
            )
        if sum(heard.by == by for heard in self._heard.values()) >= MOST_OPEN_OF_A_CALLER:
            raise errors.TooMany(
                f"You have {MOST_OPEN_OF_A_CALLER} open recorded runs, the limit.", AGAIN
            )
        if len(self._heard) >= MOST_OPEN:
            raise errors.TooMany(f"Already {MOST_OPEN} recorded runs are open, the limit.", AGAIN)
        where = named(head.origin)
        origin = records.Origin(
            app=where.app,
            user=where.user,
            session=recorded_session(run, head.origin.session),
        )
        first = records.relabelled(
            as_upload(head, run, origin),
            records.FOREIGN(True),
            RECORDED_SESSION(head.origin.session),
        )
        return await self._store(
            run, [structs.replace(entries[0], record=first), *entries[1:]], size, by
        )

    async def _continue(
        self, summary: RunSummary, entries: Sequence[records.Entry], size: int, by: str
    ) -> int:
        added = [entry for entry in entries if entry.cursor > summary.cursor]
        if not added:
            await self._note(summary, by)
            return summary.cursor
        if summary.outcome is not None:
            raise errors.Conflict(f"The run has ended ({summary.outcome}); nothing can be added.")
        if added[0].cursor != summary.cursor + 1:
            raise errors.Conflict(
                f"The piece begins at {added[0].cursor}; expected {summary.cursor + 1}."
            )
        return await self._store(summary.run, added, summary.bytes + size, by)

    async def _store(
        self, run: records.RunId, entries: Sequence[records.Entry], total: int, by: str
    ) -> int:
        if total > self._most_bytes and not isinstance(entries[0].record, records.RunEnded):
            raise errors.TooLarge(
                f"The run is larger than {self._most_bytes} bytes; the operator sets it with --upload-limit."
            )
        head = entries[0].record
        origin = head.origin if isinstance(head, records.RunStarted) else await self._origin(run)
        receipt = await append_foreign(self._log, self._calls, run, origin, entries)
        await self._log.commit(run)
        await self._log.leave(run)
        if isinstance(entries[-1].record, records.RunEnded):
            self._heard.pop(run, None)
        else:
            self._heard[run] = _Heard(receipt.cursor, self._clock(), by)
        return receipt.cursor

    async def _origin(self, run: records.RunId) -> records.Origin:
        return (await self._log.summary(run)).origin

    # ------------------------------------------------------------------ recorders that went away

    async def _note(self, summary: RunSummary, by: str) -> None:
        """Note a sign of life."""
        if summary.outcome is None:
            self._heard[summary.run] = _Heard(summary.cursor, self._clock(), by)
            if self._marks is not None:
                await self._marks.put(_mark(summary.run), b"1", LOST)

    async def settle(self) -> None:
        """End the runs whose recorder was not heard of for too long. Raise `LogError`.

        After a start, or when another process did this before, the time begins anew.
        """
        found = [
            each for each in await self._log.list(unended=True) if records.is_recorded(each.run)
        ]
        before, now = self._heard, self._clock()
        self._heard = {
            each.run: _Heard(
                each.cursor,
                now,
                before[each.run].by if each.run in before else f"user {each.origin.user}",
            )
            for each in found
        }
        for summary in found:
            heard = before.get(summary.run)
            if (
                heard is None
                or heard.cursor != summary.cursor
                or await self._is_marked(summary.run)
            ):
                continue
            if now - heard.time < LOST:
                self._heard[summary.run] = heard
            else:
                await self._give_up(summary)

    async def _is_marked(self, run: records.RunId) -> bool:
        return self._marks is not None and await self._marks.take(_mark(run)) is not None

    async def _give_up(self, before: RunSummary) -> None:
        run = before.run
        async with self._locks.held(_lock(run)):
            summary = await self._summary(run)
            if summary is None or summary.cursor != before.cursor or summary.outcome is not None:
                return
            entries: list[records.Entry] = []
            async with aclosing(self._log.read(run)) as batches:
                async for batch in batches:
                    entries += batch
            ended = records.RunEnded(outcome="failed", code=OWNER_LOST)
            await self._log.append(run, [*node_ends(entries), ended])
            await self._log.commit(run)
            await self._log.leave(run)
        self._heard.pop(run, None)
        self._report(errors.Diagnostic(kind="recorder lost", run=run, app=before.origin.app))


def _lock(run: records.RunId) -> records.Origin:
    return records.Origin(app="", user="", session=run)


def _mark(run: records.RunId) -> str:
    return f"recorder:{run}"


def _read(body: bytes) -> list[records.Entry]:
    """Read a piece of a recording, redacted. Raise `SourceError`."""
    entries = [cleaned(entry) for entry in read_part(body)]
    for entry in entries[:-1]:
        if isinstance(entry.record, records.RunEnded):
            raise errors.SourceError(
                f"Entry {entry.cursor} is the end of the run, and more follows."
            )
    return entries


# ---------------------------------------------------------------------------
# `POST /api/record`: the door of the recorder plugin (`adk_prism.Recorder`).
#
# The body is a piece of a recording, as JSON lines: entries that follow each other, or nothing, which
# says that the recorder is still there. The answer is the last cursor that is stored. The header
# `x-prism-recorder` is a secret that the recorder made for the run; the run's id is derived from it
# (`log.entry`).

PATH = "/api/record"
TYPES = ("application/jsonl", "application/x-ndjson")
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,128}")

Secret = Annotated[
    str, Header(alias="x-prism-recorder", description="the recorder's secret for this run")
]


def routes(recorded: RecordedRuns, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of recorders."""
    router = APIRouter(tags=["runs"])

    async def record(request: Request, response: Response, secret: Secret = "") -> dict[str, Any]:
        """Take a piece of a run that happens elsewhere; answer the last cursor that is stored."""
        lifecycle.check_open()
        check_type(request, TYPES)
        if _SECRET.fullmatch(secret) is None:
            raise errors.UsageError(
                "The header x-prism-recorder must have 32 to 128 letters, digits, - or _."
            )
        run = recorded_run(secret)
        caller = caller_of(request)
        cursor = await recorded.append(run, await request.body(), _naming(caller), account(caller))
        response.headers[RUN_HEADER] = run
        return {"run": run, "cursor": cursor}

    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in TYPES}
    router.post(PATH, openapi_extra={"requestBody": {"content": content}})(record)
    return router


def _naming(caller: Caller) -> Named:
    """Return how a recorded run is named: who may not speak for others owns what it sends."""
    return lambda origin: replace(
        safe_names(origin), user=recorded_user(caller, safe_names(origin).user)
    )
