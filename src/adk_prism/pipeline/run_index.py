"""Makes runs findable: folds each ended run into a digest and stores that beside the log.

A run is read while it goes on, as its entries are committed; what is stored in large pieces (an upload) or
began elsewhere is read when it has ended. One task does that, a run after the other and in small steps, so
that nothing waits for it. Runs that have no digest yet (an older version recorded them, or a process died)
are looked for at the start and now and then, with a pause after each that is as long as the work. A search
waits a moment for the runs that have just ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import structs

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.facts.run_digest import DigestFold
from adk_prism.pipeline.off_loop import feed_run, is_large
from adk_prism.runlog.cancel_task import cancel_task
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.runlog.feedback_label import FEEDBACK, feedback_labels
from adk_prism.runlog.notifier import Notifier
from adk_prism.runlog.run_digest import DIGEST_VERSION, RunDigest

BATCH = 20
"""Older runs that are looked up at a time."""

INTERVAL = 300.0
"""Seconds between two looks for runs that were missed."""

MOST_WAITING = 10_000
"""Ended runs that wait for their digests; what does not fit is found by the next look."""

MOST_AT_ONCE, MOST_FOLDS = 512, 1000
"""Entries of a run that are read together while it goes on, a few milliseconds, and runs that are."""

PATIENCE = 2.0
"""Seconds for which a search waits for runs that have just ended."""


class RunIndex:
    """Indexes the runs of a log."""

    def __init__(self, log: RunLog, report: Report) -> None:
        self._log = log
        self._report = report
        self._waiting: dict[RunId, int] = {}
        """How often each run has changed since it began to wait."""
        self._folds: dict[RunId, DigestFold] = {}
        """Of runs that go on here, the one that was quiet longest first."""
        self._changed = Notifier()

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Read what was committed of a run, if all before it was read."""
        fold = DigestFold() if entries[0].cursor == 1 else self._folds.get(run)
        if fold is None:
            return
        self._folds.pop(run, None)
        if len(entries) > MOST_AT_ONCE or is_large(entries):
            return  # `_digest` reads it off the loop.
        try:
            for entry in entries:
                fold.feed(entry)
        except Exception:  # `_digest` meets it again, and reports it.
            return
        self._folds[run] = fold
        if len(self._folds) > MOST_FOLDS:
            del self._folds[next(iter(self._folds))]

    def ended(self, run: RunId) -> None:
        """Note that a run has ended."""
        if run in self._waiting or len(self._waiting) < MOST_WAITING:
            self._waiting[run] = self._waiting.get(run, 0) + 1
            self._changed.notify()

    def changed(self, run: RunId) -> None:
        """Note that what is said about a run has changed."""
        self.ended(run)  # One that has not ended is indexed later, with what is said then.

    async def settled(self, patience: float = PATIENCE) -> None:
        """Wait until the runs that have ended by now are indexed, or patience has run out."""
        ended = set(self._waiting)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while ended & self._waiting.keys():
                    await self._changed.wait()

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[None]:
        """Index runs while the block runs."""
        task = asyncio.create_task(self._work())
        try:
            yield
        finally:
            await cancel_task(task)

    async def _work(self) -> None:
        next_look = 0.0
        while True:
            await self._index_waiting()
            if time.monotonic() >= next_look and not await self._index_older():
                next_look = time.monotonic() + INTERVAL
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, next_look - time.monotonic())):
                    while not self._waiting:
                        await self._changed.wait()

    async def _index_waiting(self) -> None:
        while self._waiting:
            run, changes = next(iter(self._waiting.items()))
            await self._index(run)
            if self._waiting.get(run) == changes:  # Otherwise once more: it changed meanwhile.
                self._waiting.pop(run, None)
            self._changed.notify()

    async def _index_older(self) -> bool:
        """Index some runs that were missed; return whether there may be more."""
        try:
            runs = await self._log.unindexed(BATCH)
        except LogError as error:
            self._tell(error)
            return False
        done = 0
        for run in runs:
            began = time.monotonic()
            done += await self._index(run)
            await self._index_waiting()
            await asyncio.sleep(time.monotonic() - began)
        return done > 0

    async def _index(self, run: RunId) -> bool:
        """Index a run; return whether that was done."""
        try:
            await self._log.index(run, await self._digest(run))
        except (NotFound, Gone):  # Removed since.
            return False
        except LogError as error:  # The next look finds it again.
            self._tell(error, run)
            return False
        return True

    async def _digest(self, run: RunId) -> RunDigest:
        fold = self._folds.pop(run, None)
        try:
            if fold is None:
                fold = await self._read(run)
            return await self._with_feedback(run, fold.digest())
        except (NotFound, Gone, LogError):
            raise
        except Exception as error:
            # One run that cannot be read must not keep others from being found.
            self._tell(error, run)
            return RunDigest(version=DIGEST_VERSION)

    async def _read(self, run: RunId) -> DigestFold:
        fold = DigestFold()
        await feed_run(self._log, run, fold.feed)
        return fold

    async def _with_feedback(self, run: RunId, digest: RunDigest) -> RunDigest:
        labels = feedback_labels((await self._log.notes([run])).get(run, ()))
        if not labels:
            return digest
        return structs.replace(digest, names=digest.names | {FEEDBACK: labels})

    def _tell(self, error: Exception, run: RunId | None = None) -> None:
        self._report(Diagnostic(kind="run not indexed", run=run or "", cause=cause_of(error)))
