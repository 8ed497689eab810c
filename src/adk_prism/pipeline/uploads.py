"""Runs that were recorded elsewhere, taken into the log whole or not at all.

The file is read twice: first to see that all of it can be read, then to store it. So nothing of a
broken file is ever there, and no more than a batch of it is in memory. Afterwards it is a run like any
other, but for its session, which is a name of its own: it belongs to no chat.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO

from adk_prism.errors import NotFound, PrismError, SourceError, Unprocessable
from adk_prism.pipeline.runs import new_run
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Entry, Origin, Record, RunId, RunStarted
from adk_prism.runlog.leases import Leases, LocalLeases
from adk_prism.source.upload import as_upload, read_upload

BATCH = 256
"""Entries that are read and stored in one go: milliseconds, so that live runs are not held up."""

_RUN = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""Ids that an upload may keep; a session's name is made of them, and has 128 characters at most."""


class Uploads:
    """Takes uploaded runs."""

    def __init__(self, log: RunLog, leases: Leases | None = None) -> None:
        self._log = log
        self._leases: Leases = leases or LocalLeases()

    async def store(
        self, file: BinaryIO, named: Callable[[Origin], Origin], *, keeps_id: bool = True
    ) -> RunSummary:
        """Store a recording or capture. `named` returns the origin with names that may be used here.

        `keeps_id`: under the recording's own run id, if that is free. Whether it is free must not be
        told to those who may not know of other users' runs.
        Raise `Unprocessable` for a file that cannot be read to its end, `LogError` if it cannot be
        stored; either way nothing of it is kept.
        """
        head = await self._checked(file)
        run = await self._free(head.run) if keeps_id else new_run()
        where = named(head.origin)
        origin = Origin(app=where.app, user=where.user, session=f"recording-{run}")
        lease = await self._leases.begin(run)  # Nobody takes it for a run that was left.
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
            records: list[Record] = [entry.record for entry in batch]
            if batch[0].cursor == 1:
                records[0] = head
            await self._log.append(run, records, times=[entry.time for entry in batch])


async def _next(reading: Iterator[Entry]) -> list[Entry]:
    """Read some entries, in a thread: a file is decoded without a pause."""
    return await asyncio.to_thread(lambda: list(islice(reading, BATCH)))
