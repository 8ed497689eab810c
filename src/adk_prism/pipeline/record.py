"""From a source to the log: everything a run says, and how it ended, whatever happens.

The one place, beside the server's edge, that catches every exception: a run's failure becomes its
`RunEnded` and the operator's diagnostic. Nothing is left for a projection to clean up.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Literal, NamedTuple

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import Fenced, LogError, PrismError
from adk_prism.facts.reader import Reader
from adk_prism.facts.strangers import MOST, strangers
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import AgentEvent, Entry, Record, RunEnded, RunId, RunStarted
from adk_prism.runlog.leases import OWNED, Lease
from adk_prism.source.contract import EventSource
from adk_prism.source.error_text import message_of

STOPPED = "server_stopped"
OWNER_LOST = "owner_lost"
_PARTIAL = b'"partial":true'


class Past(NamedTuple):
    """What there is of a run that somebody else began to record."""

    head: RunStarted
    reader: Reader
    """Has read all of it."""


class Recorder:
    """Records one run."""

    def __init__(
        self,
        log: RunLog,
        run: RunId,
        source: EventSource,
        report: Report,
        past: Past | None = None,
    ) -> None:
        """With a `past`, the source gives what comes after it."""
        self._log = log
        self._run = run
        self._source = source
        self._report = report
        self._reader = past.reader if past else Reader()
        self._lease = Lease(run)
        self._state: Literal["before", "running", "over"] = "running" if past else "before"
        self._wish: Literal["none", "stop", "leave", "lost"] = "none"
        self._stopped_by = ""
        """Code of the limit that stopped the run; empty: somebody did."""
        self._strangers: set[str] = set()
        self.head: RunStarted | None = past.head if past else None
        """How the run began, once it has."""
        self.ended: RunEnded | None = None
        """How it ended, once it has."""
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the run is in the log and can be read; failed when it never began."""
        if past:
            self.started.set_result(None)

    def stop(self, code: str = "") -> None:
        """Ask the run to stop; what it says until then is recorded. With a code, it fails with that."""
        if self._wish == "none":
            self._wish, self._stopped_by = "stop", code
        self._source.cancel()

    def leave(self) -> None:
        """Have the run end here without an end: whoever cancels the recording hands it over."""
        if self._wish == "none":
            self._wish = "leave"

    def lose(self) -> None:
        """Note that somebody else has the run: it is to be cancelled, and nothing more be written."""
        self._wish = "lost"

    async def record(self, lease: Lease | None = None) -> None:
        """Write the run until it is over. Raise only `LogError`: then there is nowhere to write to."""
        self._lease = lease or self._lease
        OWNED.set(self._lease)
        try:
            ended = await self._drain()
        except LogError as error:
            self._source.cancel()
            self._fail_start(error)
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self._wish == "lost":
                raise Fenced(f"Run {self._run!r} was taken over.") from error
            if self._state == "before":
                self._fail_start(error)
                return
            if self._wish == "leave":
                await self._log.commit(self._run)
                return
            ended = self._failure(error)
        if self._state == "running":
            await self._lease.sure()
            await self._log.append(self._run, [ended], epoch=self._lease.epoch)
            self.ended = ended
        await self._log.commit(self._run)

    async def _drain(self) -> RunEnded:
        async with aclosing(self._source.records(self._write)) as records:
            async for record in records:
                await self._write(record)
        outcome, code = self._reader.outcome()
        if outcome == "cancelled":
            return self._stopped()
        correlation = self._tell(code) if outcome == "failed" else ""
        return RunEnded(outcome=outcome, code=code, correlation=correlation)

    async def _write(self, record: Record | Entry) -> None:
        times = None
        if isinstance(record, Entry):
            times, record = [record.time], record.record
        lease = self._lease
        if self._wish == "lost":
            raise Fenced(f"Run {self._run!r} was taken over.")
        if not lease.is_sure:
            await (
                lease.sure()
            )  # Nothing is done, no tool called, while somebody else may own the run.
        receipt = await self._log.append(self._run, [record], epoch=lease.epoch, times=times)
        self._reader.feed(Entry(receipt.cursor, 0.0, record))
        if type(record) is AgentEvent:
            if _PARTIAL not in record.event:
                self._notice_strangers(record.event)
        elif isinstance(record, RunStarted):
            self.head = record
            self._state = "running"
            await self._log.commit(self._run)
            self.started.set_result(None)
        elif isinstance(record, RunEnded):
            self._state, self.ended = "over", record

    def _fail_start(self, error: BaseException) -> None:
        if not self.started.done():
            self.started.set_exception(error)

    def _failure(self, error: BaseException) -> RunEnded:
        outcome, code = self._reader.outcome()
        if self._wish == "stop" or outcome == "cancelled":
            return self._stopped()
        if isinstance(error, asyncio.CancelledError):
            return RunEnded(outcome="failed", code=STOPPED)
        code = code or (error.kind if isinstance(error, PrismError) else type(error).__name__)
        return RunEnded(outcome="failed", code=code, correlation=self._tell(code, error))

    def _stopped(self) -> RunEnded:
        """Return the end of a run that was stopped: by a person, or by a limit, which says so."""
        code = self._stopped_by
        if not code:
            return RunEnded(outcome="cancelled")
        return RunEnded(
            outcome="failed", code=code, correlation=self._tell(code, kind="run stopped")
        )

    def _tell(
        self, code: str, error: BaseException | None = None, *, kind: str = "run failed"
    ) -> str:
        correlation = self._source.correlation or new_correlation()
        self._report(
            Diagnostic(
                kind=kind,
                detail=code,
                correlation=correlation,
                run=self._run,
                app=self.head.origin.app if self.head else "",
                cause=cause_of(error) if error is not None else "",
                message=message_of(error) if error is not None else "",
            )
        )
        return correlation

    def _notice_strangers(self, event: bytes) -> None:
        """Tell the operator, once a run, of fields that this version has never heard of."""
        news = strangers(event).keys() - self._strangers
        if news and len(self._strangers) < MOST:
            self._strangers |= news
            names = ", ".join(sorted(news))
            self._report(
                Diagnostic(
                    kind="unknown field",
                    detail=names,
                    run=self._run,
                    app=self.head.origin.app if self.head else "",
                )
            )
