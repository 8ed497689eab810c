"""From a source to the log: everything a run says, and how it ended, whatever happens.

The one place, beside the server's edge, that catches every exception: a run's failure becomes its
`RunEnded` and the operator's diagnostic. Nothing is left for a projection to clean up.

The source is driven by a task of its own (`work`), in which nothing that agent code raises can end the
process (`adk.containment`). Only a stop that was requested here makes a run *cancelled*; a cancellation
that nobody requested is a failure like any other. A source that does not stop is abandoned: the run ends, and
what the source writes after that is refused.

A run whose log cannot be written for too long is stopped too, and fails with `log_unavailable`. Its end is
stored as soon as the log is back: until then the run counts as active, and no viewer learns how it ended. If
the process dies before, the log has no end, and another process continues the run as any other that was left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct
from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

from adk_prism import errors
from adk_prism.adk.errors import CONTAINED, Containment, contain, message_of, ordinary
from adk_prism.adk.redaction import safe_code
from adk_prism.adk.request import CALLS, CallRecorder, Emit, EventSource, SeenCall
from adk_prism.facts.adk_event import MOST, unknown_fields
from adk_prism.facts.run_reader import Reader
from adk_prism.log import entry as log_entry
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import OWNED, Lease
from adk_prism.log.entry import AgentEvent, Entry, Record, RunEnded, RunId, RunStarted
from adk_prism.log.run_state import LOG_UNAVAILABLE
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# Agent code as a task of its own, which is waited for, cancelled, and in the end abandoned.
#
# A tool can ignore its cancellation, or wait for something that never comes; a run has to end all the
# same. So the recorder of a run waits for a separate task that drives it, and stops waiting after
# `PATIENCE`. The task never raises: what ended it is its result.

AGAIN = 0.2
"""Seconds until a task is cancelled again: some code takes one cancellation for a failure, and continues."""

PATIENCE = 1.0
"""Seconds between the first cancellation of a task and the moment at which it is abandoned. Whoever stops a
run has waited before (`runs.runs.CANCEL_GRACE`), and a drain has one second for this."""

CLOSING = 5.0
"""Seconds in which a task that has failed may clean up before it is cancelled."""

_Result = TypeVar("_Result")


class Abandoned(Exception):
    """The task did not end when it was cancelled, and is not waited for any more."""


class AgentTask(Generic[_Result]):
    """A task that is awaited."""

    def __init__(self, coro: Coroutine[Any, Any, _Result], name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._failure: BaseException | None = None
        self._cancelled_at: float | None = None
        self._over = asyncio.Event()
        self.was_interrupted = False
        """Whether the waiting task was cancelled."""
        self.task = asyncio.create_task(_result_of(coro), name=name)
        self.task.add_done_callback(lambda _: self._over.set())

    async def wait(self) -> _Result | BaseException:
        """Return what the task returned or raised, or `Abandoned`. Being cancelled cancels the task."""
        while not self._over.is_set():
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                self.was_interrupted = True
                self.cancel()
        if not self.task.done():
            return self._failure or Abandoned()
        return asyncio.CancelledError() if self.task.cancelled() else self.task.result()

    def cancel(self) -> None:
        """Cancel the task until it has ended or is abandoned; repeating it changes nothing."""
        if self._cancelled_at is None:
            self._cancelled_at = self._loop.time()
            self._insist(self._cancelled_at)

    def close(self, failure: BaseException) -> None:
        """Give the task, which has failed, a limited time to clean up."""
        self._failure = failure
        self._loop.call_later(CLOSING, self.cancel)

    def _insist(self, since: float) -> None:
        if self.task.done():
            return
        self.task.cancel()
        is_patient = self._loop.time() - since < PATIENCE
        if not is_patient:
            self._over.set()
        # Also of an abandoned task: once its tool returns, nothing more is to be done.
        self._loop.call_later(AGAIN if is_patient else PATIENCE, self._insist, since)


async def _result_of(coro: Coroutine[Any, Any, _Result]) -> _Result | BaseException:
    try:
        return await coro
    except BaseException as error:  # The one who waits decides what it means.
        return error


# ---------------------------------------------------------------------------

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


@dataclass(eq=False)
class RunRecorder:
    """Records one run."""

    log: RunLog
    run: RunId
    source: EventSource
    report: errors.Report
    past: Past | None = None
    """Of a run that somebody else began to record: the source gives what comes after it."""
    calls: CallRecorder | None = None
    """Stores model calls; without, none are stored."""

    def __post_init__(self) -> None:
        past = self.past
        self._reader = past.reader if past else Reader()
        self._unread: list[Entry] = []
        self._lease = Lease(self.run)
        self._state: State = "running" if past else "before"
        self._work: AgentTask[RunEnded] | None = None
        self._contained = Containment()
        self._requested: Literal["none", "stop", "leave", "lost"] = "none"
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
        if self._requested == "none":
            self._requested, self._stopped_by = "stop", code
        self.source.cancel()

    def leave(self) -> None:
        """Have the run end here without an end: whoever cancels the recording hands it over."""
        if self._requested == "none":
            self._requested = "leave"

    def lose(self) -> None:
        """Note that somebody else has the run: it is to be cancelled, and nothing more be written."""
        self._requested = "lost"

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
        if isinstance(result, errors.LogError):
            self.source.cancel()
            self._fail_start(result)
            if self._state == "before" or isinstance(result, errors.Fenced):
                raise result
        if self._requested == "lost":
            raise errors.Fenced(f"Run {self.run!r} was taken over.")
        if self._state == "before":
            if not isinstance(result, BaseException):
                result = RuntimeError("The source gave no record.")
            self._fail_start(result)
            return
        if isinstance(result, BaseException) and self._requested == "leave":
            await self.log.commit(self.run)
            await self.log.side.put(self.run, HANDED_OVER, str(self._lease.epoch), b"{}")
            return
        if self._state != "over":
            await self._end(self._judged(result))
        await self._stored()

    async def _stored(self) -> None:
        """Wait until the end is stored, however long the log is unavailable."""
        while True:
            try:
                await self.log.commit(self.run)
            except errors.LogUnavailable:
                await asyncio.sleep(STORED_AGAIN)
            else:
                return

    async def _drive(self) -> RunEnded | BaseException:
        """Run the source; return how the run ended, or what ended it badly."""
        OWNED.set(self._lease)
        CONTAINED.set(self._contained)
        CALLS.set(self.calls)
        contain(asyncio.get_running_loop())
        self._work = AgentTask(self._drain(), f"run {self.run}")
        result = await self._work.wait()
        if self.abandoned is not None:
            if self._state == "running":
                self._state = "abandoned"
            detail = "The agent's code did not stop when it was cancelled; it still runs."
            self._tell("run abandoned", detail)
        return result

    async def _end(self, ended: RunEnded) -> None:
        await self._lease.sure()
        await self.log.append(self.run, [ended], epoch=self._lease.epoch)
        self._state, self.ended = "over", ended
        if self.abandoned is not None:
            # Nothing more of it may enter the session either.
            self._lease.on_lost = None
            self._lease.lose()

    async def _drain(self) -> RunEnded:
        records = self.source.records(self._emit)
        try:
            async for record in records:
                if type(record) is AgentEvent and record.more:
                    # More of a text changes nothing that the reader is asked for.
                    await self._may_write()
                    await self.log.append(self.run, [record], epoch=self._lease.epoch)
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
        correlation = self._report_failure(code) if outcome == "failed" else ""
        return RunEnded(outcome=outcome, code=code, correlation=correlation)

    async def _emit(self, item: Record | Entry | SeenCall | list[AgentEvent]) -> None:
        """Write what happened between the records that the source yields."""
        if not isinstance(item, SeenCall):
            await self._write(item)
        elif self.calls is not None and self.head is not None:
            await self._write(await self.calls.store(self.run, self.head.origin, item))

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
            await self.log.commit(self.run)
            self.head, self._state = record, "running"
            self.started.set_result(None)
        elif isinstance(record, RunEnded):
            self._state, self.ended = "over", record

    async def _append(self, records: Sequence[Record], times: list[float] | None = None) -> None:
        await self._may_write()
        receipt = await self.log.append(self.run, records, epoch=self._lease.epoch, times=times)
        first = receipt.cursor - len(records) + 1
        for cursor, record in enumerate(records, first):
            self._unread.append(Entry(cursor, 0.0, record))
        if len(self._unread) >= UNREAD:
            self._read()

    async def _may_write(self) -> None:
        """Wait until nobody else can own the run. Raise `Fenced` if somebody does, or it is over."""
        if self._requested == "lost":
            raise errors.Fenced(f"Run {self.run!r} was taken over.")
        if self._state in ("abandoned", "over"):
            raise errors.Fenced(f"Run {self.run!r} has ended.")
        if not self._lease.is_sure:
            # Nothing is done, no tool called, while somebody else may own the run.
            await self._lease.sure()

    def _read(self) -> None:
        """Read what was written."""
        entries, self._unread = self._unread, []
        for entry in entries:
            self._reader.feed(entry)

    def _outcome(self) -> tuple[log_entry.Outcome, str]:
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
        if self._requested == "stop" or outcome == "cancelled":
            return self._stopped()
        if self._work is not None and self._work.was_interrupted:
            return RunEnded(outcome="failed", code=STOPPED)
        if isinstance(error, asyncio.CancelledError | Abandoned):
            # A group of tasks, of which one failed, cancels whoever waits for it.
            error = self._contained.first or error
        if isinstance(error, errors.LogUnavailable):
            code = LOG_UNAVAILABLE
        kind = (
            error.kind if isinstance(error, errors.PrismError) else safe_code(type(error).__name__)
        )
        code = code or kind
        return RunEnded(outcome="failed", code=code, correlation=self._report_failure(code, error))

    def _stopped(self) -> RunEnded:
        """Return the end of a run that was stopped: by a person, or by a limit, which says so."""
        code = self._stopped_by
        if not code:
            return RunEnded(outcome="cancelled")
        return RunEnded(
            outcome="failed", code=code, correlation=self._report_failure(code, kind="run stopped")
        )

    def _report_failure(
        self, code: str, error: BaseException | None = None, *, kind: str = "run failed"
    ) -> str:
        correlation = self.source.correlation or errors.new_correlation()
        cause = errors.cause_of(error) if error is not None else ""
        message = message_of(error) if error is not None else ""
        self._tell(kind, code, correlation=correlation, cause=cause, message=message)
        return correlation

    def _tell(self, kind: str, detail: str, **about: str) -> None:
        """Tell the operator something of the run."""
        app = self.head.origin.app if self.head else ""
        self.report(errors.Diagnostic(kind=kind, detail=detail, run=self.run, app=app, **about))

    def _notice_unknown_fields(self, event: bytes) -> None:
        """Tell the operator, once a run, of fields that this version has never heard of."""
        added = unknown_fields(event).keys() - self._unknown_fields
        if added and len(self._unknown_fields) < MOST:
            self._unknown_fields |= added
            self._tell("unknown field", ", ".join(sorted(added)))


# ---------------------------------------------------------------------------
# A run as a span of OpenTelemetry: what ADK does in it is below it, the request that started it above.
#
# Nothing happens without a tracer provider. A run continues when its request is over, so its span may
# end after its parent's.

NAME = "adk_prism.run"


def is_traced() -> bool:
    """Return whether there is a tracer provider: until then OpenTelemetry returns a proxy."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def run_span(run: RunId, recorder: RunRecorder) -> Iterator[None]:
    """Record what happens in the block as the span of a run."""
    if not is_traced():
        yield
        return
    tracer = trace.get_tracer("adk_prism", VERSION)
    with tracer.start_as_current_span(NAME, attributes={"adk_prism.run": run}) as span:
        try:
            yield
        finally:
            _describe(span, recorder)


def _describe(span: Span, recorder: RunRecorder) -> None:
    """Say what run it was and how it ended. Users and texts stay out: traces are kept by others."""
    if recorder.head is not None:
        span.set_attribute("adk_prism.app", recorder.head.origin.app)
        span.set_attribute("gen_ai.conversation.id", recorder.head.origin.session)
        span.set_attribute("adk_prism.invocation", recorder.head.invocation)
    if recorder.ended is not None:
        span.set_attribute("adk_prism.outcome", recorder.ended.outcome)
        if recorder.ended.outcome == "failed":
            span.set_attribute("error.type", recorder.ended.code)
            span.set_attribute("adk_prism.correlation", recorder.ended.correlation)
            span.set_status(Status(StatusCode.ERROR, recorder.ended.code))


# ---------------------------------------------------------------------------
# Sources made of other sources: with something done first, after a past, or nothing done at all.


class ForkPoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a conversation was forked from: a cursor of a run, and the session of that run."""

    run: str
    at: int
    session: str
    rerun: bool = False
    """The run at that cursor was run again, with changes."""


FORKED_FROM: log_entry.Label[ForkPoint | None] = log_entry.Label("forked_from", ForkPoint, None)
"""Of a session that is a fork: on the copies of earlier runs, and on the run that the fork began with."""

REQUEST_DIGEST: log_entry.Label[str] = log_entry.Label("digest", str, "")
"""Of the request that started the run under an idempotency key."""


async def no_preparation() -> None:
    """Do nothing."""


@dataclass(eq=False)
class PreparedSource:
    """A source whose run begins with a preparation under the session's hold, such as a rewind."""

    inner: EventSource
    before: Callable[[], Awaitable[None]] = no_preparation
    digest: str = ""
    """This and the next two go into the run's first record."""
    client_run: str = ""
    forked_from: ForkPoint | None = None

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        """Prepare, then yield what the source yields."""
        await self.before()
        async with aclosing(self.inner.records(emit)) as records:
            async for record in records:
                if isinstance(record, RunStarted):
                    record = log_entry.relabelled(
                        record,
                        REQUEST_DIGEST(self.digest),
                        log_entry.CLIENT_RUN(self.client_run),
                        FORKED_FROM(self.forked_from),
                    )
                yield record

    def cancel(self) -> None:
        self.inner.cancel()

    @property
    def correlation(self) -> str:
        return self.inner.correlation


class RecordsSource:
    """A run in which no agent runs: its records are known."""

    correlation = ""

    def __init__(self, *records: Record) -> None:
        self._records = records

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Yield the records; if none of them is an end, the run's outcome follows from them."""
        del emit  # nothing runs
        for record in self._records:
            yield record

    def cancel(self) -> None:
        """Do nothing: nothing runs."""
