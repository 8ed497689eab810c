"""From a source to the log: everything a run says, and how it ended, whatever happens.

The one place, beside the server's edge, that catches every exception: a run's failure becomes its
`RunEnded` and the operator's diagnostic. Nothing is left for a projection to clean up.

The source is driven by a task of its own (`work`), in which nothing that agent code raises can end the
process (`source.containment`). Only a stop that was requested here makes a run *cancelled*; a cancellation
that nobody requested is a failure like any other. A source that does not stop is abandoned: the run ends, and
what the source writes after that is refused.

A run whose log cannot be written for too long is stopped too, and fails with `log_unavailable`. Its end is
stored as soon as the log is back: until then the run counts as active, and nobody is told how it ended. If
the process dies before, the log has no end, and another process continues the run as any other that was left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, NamedTuple

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import Fenced, LogError, LogUnavailable, PrismError
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.unknown_fields import MOST, unknown_fields
from adk_prism.pipeline.agent_task import Abandoned, AgentTask
from adk_prism.pipeline.model_call_writer import ModelCallWriter
from adk_prism.runlog.contract import Receipt, RunLog
from adk_prism.runlog.entry import (
    AgentEvent,
    Entry,
    Outcome,
    Record,
    RunEnded,
    RunId,
    RunStarted,
)
from adk_prism.runlog.leases import OWNED, Lease
from adk_prism.runlog.run_state import LOG_UNAVAILABLE
from adk_prism.source.containment import CONTAINED, Containment, contain, ordinary
from adk_prism.source.contract import EventSource
from adk_prism.source.error_text import message_of
from adk_prism.source.model_calls.seen_call import DETAIL, SeenCall
from adk_prism.source.redaction import safe_code

STOPPED = "server_stopped"
OWNER_LOST = "owner_lost"
HANDED_OVER = "handed over"
"""Kind of the note that a process leaves on a run that it does not end: it did not die of it. The key is its
epoch."""
STORED_AGAIN = 1.0
"""Seconds between two looks whether the log has stored a run's end."""
_PARTIAL = b'"partial":true'
UNREAD = 256
"""Deltas that are read together: one by one, between the steps of an agent, costs several times as much."""

State = Literal["before", "running", "abandoned", "over"]


class Past(NamedTuple):
    """What there is of a run that somebody else began to record."""

    head: RunStarted
    reader: Reader
    """Has read all of it."""


class RunRecorder:
    """Records one run."""

    def __init__(
        self,
        log: RunLog,
        run: RunId,
        source: EventSource,
        report: Report,
        past: Past | None = None,
        calls: ModelCallWriter | None = None,
    ) -> None:
        """With a `past`, the source gives what comes after it. `calls` stores model calls; without: none."""
        self._log = log
        self._run = run
        self._source = source
        self._report = report
        self._calls = calls
        self._reader = past.reader if past else Reader()
        self._unread: list[Entry] = []
        self._lease = Lease(run)
        self._state: State = "running" if past else "before"
        self._work: AgentTask[RunEnded] | None = None
        self._contained = Containment()
        self._wish: Literal["none", "stop", "leave", "lost"] = "none"
        self._stopped_by = ""
        """Code of the limit that stopped the run; empty: somebody did."""
        self._unknown_fields: set[str] = set()
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

    def insist(self) -> None:
        """Cancel what drives the run; if that does not end it, the run ends without it."""
        if self._work is not None:
            self._work.cancel()

    @property
    def abandoned(self) -> asyncio.Task[object] | None:
        """What drove the run, if it did not stop when it was cancelled and still runs."""
        return self._work.task if self._work and not self._work.task.done() else None

    async def record(self, lease: Lease | None = None) -> None:
        """Write the run until its end is stored. Raise `LogError` where that cannot be: another process has
        the run, or the log closes."""
        self._lease = lease or self._lease
        result = await self._drive()
        if isinstance(result, LogError):
            self._source.cancel()
            self._fail_start(result)
            if self._state == "before" or isinstance(result, Fenced):
                raise result
        if self._wish == "lost":
            raise Fenced(f"Run {self._run!r} was taken over.")
        if self._state == "before":
            if not isinstance(result, BaseException):
                result = RuntimeError("The source gave no record.")
            self._fail_start(result)
            return
        if isinstance(result, BaseException) and self._wish == "leave":
            await self._log.commit(self._run)
            await self._log.put_note(self._run, HANDED_OVER, str(self._lease.epoch), b"{}")
            return
        if self._state != "over":
            await self._end(self._judged(result))
        await self._stored()

    async def _stored(self) -> None:
        """Wait until the end is stored, however long the log is unavailable."""
        while True:
            try:
                await self._log.commit(self._run)
            except LogUnavailable:
                await asyncio.sleep(STORED_AGAIN)
            else:
                return

    async def _drive(self) -> RunEnded | BaseException:
        """Run the source; return how the run ended, or what ended it badly."""
        OWNED.set(self._lease)
        CONTAINED.set(self._contained)
        DETAIL.set(self._calls.detail if self._calls is not None else "off")
        contain(asyncio.get_running_loop())
        self._work = AgentTask(self._drain(), f"run {self._run}")
        result = await self._work.wait()
        if self.abandoned is not None:
            if self._state == "running":
                self._state = "abandoned"
            self._note_abandoned()
        return result

    async def _end(self, ended: RunEnded) -> None:
        await self._lease.sure()
        await self._log.append(self._run, [ended], epoch=self._lease.epoch)
        self._state, self.ended = "over", ended
        if self.abandoned is not None:
            # Nothing more of it may enter the session either.
            self._lease.on_lost = None
            self._lease.lose()

    async def _drain(self) -> RunEnded:
        records = self._source.records(self._emit)
        try:
            async for record in records:
                if type(record) is AgentEvent and record.more:
                    # More of a text changes nothing that the reader is asked for.
                    await self._store([record])
                else:
                    await self._write(record)
        except BaseException as error:
            if self._work is not None:
                self._work.close(error)
            raise
        finally:
            await records.aclose()
        outcome, code = self._outcome()
        if outcome == "cancelled":
            return self._stopped()
        correlation = self._tell(code) if outcome == "failed" else ""
        return RunEnded(outcome=outcome, code=code, correlation=correlation)

    async def _emit(self, item: Record | Entry | SeenCall | list[AgentEvent]) -> None:
        """Write what happened between the records that the source yields."""
        if not isinstance(item, SeenCall):
            await self._write(item)
        elif self._calls is not None and self.head is not None:
            await self._write(await self._calls.store(self._run, self.head.origin, item))

    async def _write(self, record: Record | Entry | list[AgentEvent]) -> None:
        times = None
        if isinstance(record, list):
            await self._append(record)
            return
        if isinstance(record, Entry):
            times, record = [record.time], record.record
        await self._append([record], times)
        if type(record) is AgentEvent:
            if _PARTIAL not in record.event:
                self._read()
                self._notice_unknown_fields(record.event)
            return
        self._read()
        if isinstance(record, RunStarted):
            await self._log.commit(self._run)
            self.head, self._state = record, "running"
            self.started.set_result(None)
        elif isinstance(record, RunEnded):
            self._state, self.ended = "over", record

    async def _append(self, records: Sequence[Record], times: list[float] | None = None) -> None:
        receipt = await self._store(records, times)
        first = receipt.cursor - len(records) + 1
        for cursor, record in enumerate(records, first):
            self._unread.append(Entry(cursor, 0.0, record))
        if len(self._unread) >= UNREAD:
            self._read()

    async def _store(self, records: Sequence[Record], times: list[float] | None = None) -> Receipt:
        lease = self._lease
        if self._wish == "lost":
            raise Fenced(f"Run {self._run!r} was taken over.")
        if self._state in ("abandoned", "over"):
            raise Fenced(f"Run {self._run!r} has ended.")
        if not lease.is_sure:
            # Nothing is done, no tool called, while somebody else may own the run.
            await lease.sure()
        return await self._log.append(self._run, records, epoch=lease.epoch, times=times)

    def _read(self) -> None:
        """Read what was written."""
        entries, self._unread = self._unread, []
        for entry in entries:
            self._reader.feed(entry)

    def _outcome(self) -> tuple[Outcome, str]:
        self._read()
        return self._reader.outcome()

    def _fail_start(self, error: BaseException) -> None:
        if not self.started.done():
            self.started.set_exception(ordinary(error))

    def _judged(self, result: RunEnded | BaseException) -> RunEnded:
        if isinstance(result, RunEnded):
            return result
        try:
            return self._failure(result)
        except BaseException:  # What an exception says about itself is agent code too.
            return RunEnded(outcome="failed", code=safe_code(type(result).__name__))

    def _failure(self, error: BaseException) -> RunEnded:
        outcome, code = self._outcome()
        if self._wish == "stop" or outcome == "cancelled":
            return self._stopped()
        if self._work is not None and self._work.was_interrupted:
            return RunEnded(outcome="failed", code=STOPPED)
        if isinstance(error, asyncio.CancelledError | Abandoned):
            # A group of tasks, of which one failed, cancels whoever waits for it.
            error = self._contained.first or error
        if isinstance(error, LogUnavailable):
            code = LOG_UNAVAILABLE
        kind = error.kind if isinstance(error, PrismError) else safe_code(type(error).__name__)
        code = code or kind
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

    def _note_abandoned(self) -> None:
        self._report(
            Diagnostic(
                kind="run abandoned",
                detail="The agent's code did not stop when it was cancelled; it still runs.",
                run=self._run,
                app=self.head.origin.app if self.head else "",
            )
        )

    def _notice_unknown_fields(self, event: bytes) -> None:
        """Tell the operator, once a run, of fields that this version has never heard of."""
        news = unknown_fields(event).keys() - self._unknown_fields
        if news and len(self._unknown_fields) < MOST:
            self._unknown_fields |= news
            names = ", ".join(sorted(news))
            self._report(
                Diagnostic(
                    kind="unknown field",
                    detail=names,
                    run=self._run,
                    app=self.head.origin.app if self.head else "",
                )
            )
