"""Stores uploaded recordings and captures in the log, completely or not at all.

The file is read twice: first to see that all of it can be read, then to store it. So a
broken file leaves nothing, and only a batch of it is in memory. Afterwards it is a run like any other, except
that its session is only a name: it belongs to no chat.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO

from msgspec import structs

from adk_prism.errors import NotFound, PrismError, SourceError, Unprocessable
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.model_call_writer import ModelCallWriter, append_foreign
from adk_prism.pipeline.runs import new_run
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Entry, ModelCalled, Origin, RunId, RunStarted, pack, unpack
from adk_prism.runlog.json_bounds import bound_json
from adk_prism.runlog.leases import Leases, LocalLeases
from adk_prism.source.model_calls.recorded_call import from_file
from adk_prism.source.recording_file import read_run
from adk_prism.source.redaction import foreign_json

BATCH = 256
"""Entries that are read and stored in one go: milliseconds, so that live runs are not held up."""

_RUN = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""Ids that an upload may keep; a session's name is made of them, and has 128 characters at most."""


class Uploads:
    """Takes uploaded runs."""

    def __init__(
        self, log: RunLog, leases: Leases | None = None, calls: ModelCallWriter | None = None
    ) -> None:
        """`calls` stores the model calls of recordings that have them; without: none."""
        self._log = log
        self._calls = calls
        self._leases: Leases = leases or LocalLeases()

    async def store(
        self, file: BinaryIO, named: Callable[[Origin], Origin], *, keeps_id: bool = True
    ) -> RunSummary:
        """Store a recording or capture. `named` returns the origin with names that may be used here.

        `keeps_id`: under the recording's own run id, if that is free. Callers who may not
        know of other users' runs must not learn whether it is free.
        Raise `Unprocessable` for a file that cannot be read to its end, `LogError` if it cannot be
        stored; either way nothing of it is kept.
        """
        head = await self._checked(file)
        run = await self._free(head.run) if keeps_id else new_run()
        where = named(head.origin)
        origin = Origin(app=where.app, user=where.user, session=f"recording-{run}")
        lease = await self._leases.begin(run)  # So that no process takes it for a lost run.
        try:
            await self._append(file, run, as_upload(head, run, origin))
            await self._log.commit(run)
        except BaseException:
            await asyncio.shield(self._log.delete_session(origin))
            raise
        finally:
            await self._leases.release(lease)
        return await self._log.summary(run)

    async def _checked(self, file: BinaryIO) -> RunStarted:
        """Read the file to its end; return its first record."""
        head: RunStarted | None = None
        try:
            reading = read_upload(file)
            while batch := await _next(reading):
                first = batch[0].record
                head = head or (first if isinstance(first, RunStarted) else None)
        except SourceError as error:
            raise Unprocessable(f"{error.detail} Nothing was stored.") from None
        assert head is not None, "a file without a first entry is refused"
        return head

    async def _free(self, wanted: str) -> RunId:
        """Return the recording's own id, or another one if that is taken or was."""
        if _RUN.fullmatch(wanted) is None:
            return new_run()
        try:
            await self._log.summary(RunId(wanted))
        except NotFound:
            return RunId(wanted)
        except PrismError:
            pass
        return new_run()

    async def _append(self, file: BinaryIO, run: RunId, head: RunStarted) -> None:
        reading = read_upload(file)
        while batch := await _next(reading):
            if batch[0].cursor == 1:
                batch[0] = Entry(1, batch[0].time, head)
            await append_foreign(self._log, self._calls, run, head.origin, batch)


async def _next(reading: Iterator[Entry]) -> list[Entry]:
    """Read some entries, in a thread: a file is decoded without a pause."""
    return await asyncio.to_thread(lambda: list(islice(reading, BATCH)))


def read_upload(file: BinaryIO) -> Iterator[Entry]:
    """Yield the entries of an uploaded file, from its beginning, redacted, with an end.

    Raise `SourceError` at the first value that cannot be read, naming its line.
    """
    file.seek(0)
    for entry in read_run(file, end=CaptureEnding()):
        yield cleaned(entry)


def cleaned(entry: Entry) -> Entry:
    """Return an entry from elsewhere without credentials. Raise `SourceError` if that cannot be told."""
    if isinstance(entry.record, ModelCalled):
        from_file(entry.record)  # says what is wrong with it before anything is stored
    kind, payload = pack(entry.record)
    try:
        clean = foreign_json(bound_json(payload))
    except (ValueError, RecursionError):
        raise SourceError(
            f"Entry {entry.cursor} may hold a credential, and cannot be read to look for it."
        ) from None
    return entry if clean is payload else Entry(entry.cursor, entry.time, unpack(kind, clean))


def as_upload(head: RunStarted, run: str, origin: Origin) -> RunStarted:
    """Return an uploaded run's first record with its names here, without its key and its place in a chat."""
    return structs.replace(
        head,
        run=run,
        origin=origin,
        replaces="",
        restores="",
        digest="",
        forked_from=None,
        uploaded=True,
    )
