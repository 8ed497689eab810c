"""The parts of one server: what they are, and how they are made and connected.

`make_context` makes them once; `app` passes them on to routes and features. There are no module-level
services; `create_app` twice in one process gives two servers that share nothing. A routes module is a
function `routes(…) -> APIRouter` of the parts that it uses (of more than five, the context), or, with many
handlers, a class of them with `router()`.

Nothing is opened here. The lifecycle opens what needs opening, in the order in which it is registered, and
closes it in reverse; what has to end first when the server goes down is registered as a drain hook.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import CallRecorder
from adk_prism.adk.tools import InDoubt
from adk_prism.errors import Diagnostic, LogError, Report, cause_of
from adk_prism.extension import Observers, chosen
from adk_prism.log import from_url
from adk_prism.log.contract import Leases, LogObserver, RunLog
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.broadcast import Broadcaster
from adk_prism.runs.chats import Chats
from adk_prism.runs.conversations import Conversations
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Quota, RunLimits, SessionLocks
from adk_prism.runs.session_log import Deletions, SessionLog
from adk_prism.runs.takeover import Takeovers, can_resume
from adk_prism.server import lifecycle as housekeeping
from adk_prism.server.data_folder import redaction_of_a_run
from adk_prism.server.identity.identity import Identity, build_identity
from adk_prism.server.identity.methods import Authenticate, SharedTickets, TicketOffice, Tickets
from adk_prism.server.lifecycle import Lifecycle, opened
from adk_prism.server.limits import CallerLimits, HeavyWork, SharedLimits, SharedRunCount
from adk_prism.server.metrics import BLOCKED, Metrics, add_gauges, measuring
from adk_prism.server.observability import AuditLog, Observability
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.run_files import ResentFiles, RunFiles
from adk_prism.server.run_starter import ClientState, Idempotency, RunStarter
from adk_prism.server.run_streams import RunStreams
from adk_prism.server.settings import Settings
from adk_prism.voice.live_runs import LiveRuns
from adk_prism.voice.run_context import LiveOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What records and stores runs."""

    log: RunLog
    """Without what ADK's sessions hold besides."""
    leases: Leases
    calls: CallRecorder | None
    """Stores model calls; None without the feature."""
    takeovers: Takeovers
    observers: Observers
    """See the runs of this process: features add theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much callers may use."""

    callers: CallerLimits
    shared: SharedLimits | None
    """Counts them for all replicas."""
    heavy: HeavyWork


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The parts of one server."""

    settings: Settings
    apps: Apps
    log: RunLog
    """For readers: with what ADK's sessions hold besides."""
    recording: Recording
    runs: Runs
    chats: Chats
    conversations: Conversations
    live: LiveRuns
    streams: RunStreams
    starter: RunStarter
    files: RunFiles
    limits: Limits
    observability: Observability
    lifecycle: Lifecycle
    identity: Identity

    @property
    def report(self) -> Report:
        """Tells the operator."""
        return self.observability.report

    @property
    def metrics(self) -> Metrics:
        """The server's numbers."""
        return self.observability.metrics

    @property
    def errors(self) -> ErrorTexts:
        """The full texts of errors, for who may see them."""
        return self.observability.errors

    @property
    def audit(self) -> AuditLog:
        """Who did what."""
        return self.observability.audit

    @property
    def draining(self) -> bool:
        """Whether the server takes no new work."""
        return self.lifecycle.draining


# ---------------------------------------------------------------------------
# How they are made.


def make_context(
    settings: Settings,
    apps: Apps,
    lifecycle: Lifecycle,
    observability: Observability,
    log: RunLog | None = None,
    *,
    authenticate: Authenticate | None = None,
) -> Context:
    """Return the parts of a server; its lifecycle opens and closes them."""
    report = observability.report
    tickets = _tickets(settings, lifecycle)
    log = log or from_url.open_log(settings.log, partial(_warn, report))
    identity = build_identity(settings, tickets, authenticate, report)
    stored = _recording(settings, apps, lifecycle, observability, log, known=identity.required)
    runs, readable, leases = stored.runs, stored.readable, stored.recording.leases
    chats, note = Chats(readable), observability.audit.note
    branches = SessionBranches(log, apps, chats, runs.locks)
    deciding = SessionLocks(leases, "deciding")
    talk = Conversations(apps, runs, runs.locks, chats, branches, report, deciding, note)
    files = RunFiles(readable, chats, apps, settings.files_limit)
    broadcaster = Broadcaster(readable, settings.keep_alive)
    context = Context(
        settings=settings,
        apps=apps,
        log=readable,
        recording=stored.recording,
        runs=runs,
        chats=chats,
        conversations=talk,
        live=_live_runs(settings, apps, runs, branches, report),
        streams=RunStreams(
            broadcaster,
            observability.errors,
            report,
            settings,
            chosen(settings.without).annotators(),
        ),
        starter=RunStarter(
            lifecycle,
            apps,
            talk,
            Idempotency(log, SessionLocks(leases, "key")),
            ResentFiles(readable, files, settings.body_limit),
            ClientState(apps, settings.client_state),
            settings,
        ),
        files=files,
        limits=Limits(
            callers=settings.limits(known=identity.required),
            shared=stored.shared,
            heavy=HeavyWork(),
        ),
        observability=observability,
        lifecycle=lifecycle,
        identity=identity,
    )
    _hold(context)
    return context


class _Stored(NamedTuple):
    """What records and stores runs, and what reads them."""

    recording: Recording
    readable: RunLog
    """The log for readers: with what ADK's sessions hold besides."""
    runs: Runs
    shared: SharedLimits | None
    """Counts the limits of callers for all replicas."""


def _recording(
    settings: Settings,
    apps: Apps,
    lifecycle: Lifecycle,
    observability: Observability,
    log: RunLog,
    *,
    known: bool,
) -> _Stored:
    """Return what records and stores runs; `known` says whether callers are known."""
    report, metrics = observability.report, observability.metrics
    leases = from_url.open_leases(settings.log, settings.lease)
    locks = SessionLocks(leases, settle=lambda origin, claim: takeovers.settle(origin, claim))
    quota, shared = _quota(settings, lifecycle, observability, known=known)
    deletions, secrets, observers = Deletions(log), observability.secrets, Observers()

    observer = LogObserver(
        written=metrics.appends.observe,
        committed=metrics.commits.observe,
        following=quota.following,
        left=quota.left,
        stored=observers.stored,
        stalled=partial(_tell_stalled, report),
        ended=observers.ended,
        trimmed=housekeeping.RemovedRuns(
            report, observability.audit.note, settings.retention_size
        ).removed,
    )
    log.attach(
        redact=secrets.payload, streams=partial(redaction_of_a_run, secrets), observer=observer
    )
    detail = settings.detail_of_model_calls(known=known, listens=observability.listens)
    calls = chosen(settings.without).call_recorder(log, detail, report)
    resumable = partial(can_resume, apps)
    runs = Runs(log, locks, report, leases, quota, metrics, resumable, calls, deletions)
    doubt = InDoubt(settings.in_doubt, settings.in_doubt_tools)
    takeovers = Takeovers(log, apps, runs, leases, report, doubt)
    lifecycle.hold(lambda: _opened_log(log, report))
    lifecycle.hold(lambda: opened(leases))
    lifecycle.hold(takeovers.watching)
    readable = SessionLog(log, apps, secrets.record, report, deletions)
    recording = Recording(
        log=log, leases=leases, calls=calls, takeovers=takeovers, observers=observers
    )
    return _Stored(recording, readable, runs, shared)


def _warn(report: Report, text: str) -> None:
    report(Diagnostic(kind="run log warning", detail=text))


def _tell_stalled(report: Report, is_stalled: bool) -> None:
    report(
        Diagnostic(
            kind="run log unavailable" if is_stalled else "run log available again",
            detail="It cannot be written; runs fail until it can." if is_stalled else "",
        )
    )


def _quota(
    settings: Settings, lifecycle: Lifecycle, observability: Observability, *, known: bool
) -> tuple[Quota, SharedLimits | None]:
    """Return the limits on runs, and what counts the limits of callers for all replicas.

    The latter is None without a shared log or a limit.
    """
    limits, refused = settings.limits(known=known), observability.metrics.refused
    counts = from_url.open_usage_counters(settings.log) if any(limits) else None
    shared = SharedLimits(counts, observability.report) if counts is not None else None
    if shared is not None:
        lifecycle.hold(shared.counting)
    counted = SharedRunCount(shared, limits.runs, refused) if shared is not None else None
    of_runs = RunLimits(runs=limits.runs, run_time=limits.run_time, unwatched=limits.unwatched)
    return Quota(of_runs, refused, counted), shared


def _hold(context: Context) -> None:
    """Register what else is opened and closed, and what ends when the server goes down."""
    lifecycle, metrics, streams = context.lifecycle, context.metrics, context.streams
    settings, report = context.settings, context.report
    leases = context.recording.leases
    retention = housekeeping.RunRetention(context.recording.log, settings.retention, report)
    lifecycle.hold(lambda: housekeeping.housekeeping([retention], leases, report))
    limit = settings.lease / 2 if settings.has_shared_log else BLOCKED
    lifecycle.hold(lambda: measuring(metrics.loop_lag, metrics.loop_blocked, report, limit))
    lifecycle.on_cut(streams.broadcaster.leave_all)
    lifecycle.on_cut(streams.sockets.close_all)
    lifecycle.on_drain(partial(_drain, context))
    add_gauges(metrics, context.runs, streams.broadcaster, context.observability.calls, lifecycle)


def _tickets(settings: Settings, lifecycle: Lifecycle) -> TicketOffice:
    """Return tickets that are valid in every process that shares the log."""
    store = from_url.open_short_lived_values(settings.log)
    if store is None:
        return Tickets()
    lifecycle.hold(lambda: opened(store))
    return SharedTickets(store)


def _live_runs(
    settings: Settings, apps: Apps, runs: Runs, branches: SessionBranches, report: Report
) -> LiveRuns:
    options = LiveOptions(
        approval_timeout=settings.approval_timeout,
        client_timeout=settings.client_tool_timeout,
        audio_log_bytes=settings.live_sound_limit if settings.live_sound == "keep" else 0,
        max_llm_calls=settings.max_llm_calls,
    )
    return LiveRuns(
        apps,
        runs,
        branches,
        report,
        options=options,
        grace=settings.live_grace,
        second=settings.live_busy,
        busy=settings.chat_busy,
    )


@asynccontextmanager
async def _opened_log(log: RunLog, report: Report) -> AsyncIterator[None]:
    """Open the log and close it. What it could not store is reported: the server goes down all the same."""
    await log.open()
    try:
        yield
    finally:
        try:
            await log.close()
        except LogError as error:
            report(
                Diagnostic(kind="run log not closed", detail=error.detail, cause=cause_of(error))
            )


# ---------------------------------------------------------------------------
# What happens to streams, sockets and runs when the server goes down.
#
# A stream continues until its run ends or the grace period is over. It is cut early only where
# another process that takes new work shares the run log: its client comes back there, and misses
# nothing. A stream whose run ends while the server drains gets its end like any other.
#
# Live runs cannot be continued by another process. Where there is one, a client can begin again
# there, so it is sent away at once; elsewhere it may talk on for as long as the grace period lasts.

LAST_FRAMES = 1.0
"""Seconds in which viewers may take the end of a run that was stopped; less of a short grace period."""
LAST_FRAMES_SHARE = 0.4
"""Of the time that runs had: with it, all steps fit into the grace period."""


async def _drain(context: Context, patience: float) -> None:
    """Take no new runs; let runs end within `patience` seconds, then stop them or hand them over."""
    lifecycle, streams, loop = context.lifecycle, context.streams, asyncio.get_running_loop()
    context.runs.refuse_new()
    has_others = await context.recording.leases.has_others()
    if has_others:
        lifecycle.cut()
    else:
        streams.sockets.close_idle()
    until = loop.time() + patience
    try:
        talking = context.live.drain(0.0 if has_others else patience)
        await asyncio.gather(talking, context.runs.drain(patience))
        # Viewers of runs that have ended are owed the end.
        seconds = max(until - loop.time(), min(LAST_FRAMES, patience * LAST_FRAMES_SHARE))
        await asyncio.gather(
            streams.broadcaster.finished(seconds), streams.sockets.finished(seconds)
        )
    finally:
        lifecycle.cut()
