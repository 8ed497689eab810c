"""From a source to the log: everything a run says, and how it ended, whatever happens.

The one place, beside the server's edge, that catches every exception: a run's failure becomes its
`RunEnded` and the operator's diagnostic. Nothing is left for a projection to clean up.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Literal

import msgspec

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import LogError, PrismError
from adk_prism.facts.adk_event import unknown_fields
from adk_prism.facts.reader import Reader
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import AgentEvent, Entry, Record, RunEnded, RunId, RunStarted
from adk_prism.source.contract import EventSource

STOPPED = "server_stopped"
OWNER_LOST = "owner_lost"
_PARTIAL = b'"partial":true'


class Recorder:
    """Records one run."""

    def __init__(self, log: RunLog, run: RunId, source: EventSource, report: Report) -> None:
        self._log = log
        self._run = run
        self._source = source
        self._report = report
        self._app = ""
        self._reader = Reader()
        self._state: Literal["before", "running", "over"] = "before"
        self._stopping = False
        self._strangers: set[str] = set()
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the run is in the log and can be read; failed when it never began."""

    def stop(self) -> None:
        """Ask the run to stop; what it says until then is recorded."""
        self._stopping = True
        self._source.cancel()

    async def record(self) -> None:
        """Write the run until it is over. Raise only `LogError`: then there is nowhere to write to."""
        try:
            ended = await self._drain()
        except LogError as error:
            self._source.cancel()
            self._fail_start(error)
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self._state == "before":
                self._fail_start(error)
                return
            ended = self._failure(error)
        if self._state == "running":
            await self._log.append(self._run, [ended])
        await self._log.commit(self._run)

    async def _drain(self) -> RunEnded:
        async with aclosing(self._source.records(self._write)) as records:
            async for record in records:
                await self._write(record)
        outcome, code = self._reader.outcome()
        correlation = self._tell(code) if outcome == "failed" else ""
        return RunEnded(outcome=outcome, code=code, correlation=correlation)

    async def _write(self, record: Record | Entry) -> None:
        times = None
        if isinstance(record, Entry):
            times, record = [record.time], record.record
        receipt = await self._log.append(self._run, [record], times=times)
        self._reader.feed(Entry(receipt.cursor, 0.0, record))
        if type(record) is AgentEvent:
            if _PARTIAL not in record.event:
                self._notice_strangers(record.event)
        elif isinstance(record, RunStarted):
            self._app = record.origin.app
            self._state = "running"
            await self._log.commit(self._run)
            self.started.set_result(None)
        elif isinstance(record, RunEnded):
            self._state = "over"

    def _fail_start(self, error: BaseException) -> None:
        if not self.started.done():
            self.started.set_exception(error)

    def _failure(self, error: BaseException) -> RunEnded:
        outcome, code = self._reader.outcome()
        if self._stopping or outcome == "cancelled":
            return RunEnded(outcome="cancelled")
        if isinstance(error, asyncio.CancelledError):
            return RunEnded(outcome="failed", code=STOPPED)
        code = code or (error.kind if isinstance(error, PrismError) else type(error).__name__)
        return RunEnded(outcome="failed", code=code, correlation=self._tell(code, error))

    def _tell(self, code: str, error: BaseException | None = None) -> str:
        correlation = self._source.correlation or new_correlation()
        self._report(
            Diagnostic(
                kind="run failed",
                detail=code,
                correlation=correlation,
                run=self._run,
                app=self._app,
                cause=cause_of(error) if error is not None else "",
            )
        )
        return correlation

    def _notice_strangers(self, event: bytes) -> None:
        """Tell the operator, once a run, of fields that this version has never heard of."""
        try:
            news = unknown_fields(event) - self._strangers
        except msgspec.MsgspecError:
            return
        if news:
            self._strangers |= news
            names = ", ".join(sorted(news))
            self._report(
                Diagnostic(kind="unknown field", detail=names, run=self._run, app=self._app)
            )
