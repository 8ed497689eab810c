"""Makes the parts of one server and connects them.

Nothing is opened here. The lifecycle opens what needs opening, in the order in which it is registered, and
closes it in reverse; what has to end first when the server goes down is registered as a drain hook.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import LogError
from adk_prism.pipeline.broadcast import Broadcaster
from adk_prism.pipeline.cancellation import Canceller
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation import Conversations
from adk_prism.pipeline.deletions import Deletions
from adk_prism.pipeline.film_cache import Films
from adk_prism.pipeline.fork_history import ForkHistories
from adk_prism.pipeline.forks import Forks
from adk_prism.pipeline.live_runs import LiveRuns
from adk_prism.pipeline.model_call_writer import ModelCallWriter
from adk_prism.pipeline.quota import Quota, RunLimits
from adk_prism.pipeline.run_index import RunIndex
from adk_prism.pipeline.runs import Runs
from adk_prism.pipeline.runs_from_recorders import LOST, RecordedRuns
from adk_prism.pipeline.session_branches import SessionBranches
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.pipeline.session_log import SessionLog
from adk_prism.pipeline.takeover import Takeovers, can_resume
from adk_prism.pipeline.uploaded_runs import Uploads
from adk_prism.runlog.contract import LogObserver, RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.runlog.from_url import (
    open_leases,
    open_log,
    open_short_lived_values,
    open_usage_counters,
)
from adk_prism.runlog.leases import Leases
from adk_prism.runlog.short_lived_values import ShortLivedValues
from adk_prism.server.client_state import ClientState
from adk_prism.server.configured_secrets import redaction_of_a_run
from adk_prism.server.context import Context
from adk_prism.server.drain import Drain
from adk_prism.server.evaluation import Evaluator
from adk_prism.server.files.resent_files import ResentFiles
from adk_prism.server.files.run_files import RunFiles
from adk_prism.server.housekeeping import Job, RemovedRuns, RunRetention, housekeeping
from adk_prism.server.idempotency import Idempotency
from adk_prism.server.identity.build import build_identity
from adk_prism.server.identity.callback import Authenticate
from adk_prism.server.identity.share_links import ShareLinks, file_of
from adk_prism.server.identity.shared_links import SharedLinks
from adk_prism.server.identity.tickets import SharedTickets, TicketOffice, Tickets
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.limits.heavy_work import HeavyWork
from adk_prism.server.limits.shared_limits import SharedLimits, SharedRunCount
from adk_prism.server.observability.metrics.gauges import add_gauges
from adk_prism.server.observability.metrics.loop_lag import BLOCKED, measuring
from adk_prism.server.observability.observability import Observability
from adk_prism.server.observability.trace_export import TraceExport
from adk_prism.server.open_sockets import Sockets
from adk_prism.server.price_list import prices_of
from adk_prism.server.run_starter import RunStarter
from adk_prism.server.run_streams import RunStreams
from adk_prism.server.session_removal import DeletedSessions
from adk_prism.server.session_retention import SessionRetention
from adk_prism.server.settings import Settings
from adk_prism.source.apps import Apps
from adk_prism.source.calls_in_doubt import InDoubt
from adk_prism.source.live.options import LiveOptions

REMOVAL = 60.0
"""Seconds between two looks for deleted conversations that can be removed."""


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
    log = log or open_log(settings.log, partial(_warn, report))
    file = file_of(settings.log, Path(settings.data_dir).absolute())
    links = SharedLinks(log, file) if settings.has_shared_log else ShareLinks(file)
    identity = build_identity(settings, tickets, links, authenticate, observability.report)
    recording = _recording(settings, apps, lifecycle, observability, log, known=identity.required)
    _keep_house(settings, apps, recording, lifecycle, report)
    readable, leases = recording.readable, recording.leases
    runs, locks, chats = recording.runs, recording.locks, Chats(readable)
    deciding = SessionLocks(leases, "deciding")
    branches, note = SessionBranches(recording.log, apps, chats, locks), observability.audit.note
    talk = Conversations(apps, runs, locks, chats, branches, report, deciding, note)
    client_state = ClientState(apps, settings.client_state)
    histories = ForkHistories(readable, chats, client_state.refused_keys)
    idempotency = Idempotency(recording.log, SessionLocks(leases, "key"))
    files = RunFiles(readable, chats, apps, settings)
    resent = ResentFiles(readable, files, settings.body_limit)
    broadcaster = Broadcaster(readable, settings.keep_alive)
    context = Context(
        settings=settings,
        apps=apps,
        log=readable,
        deletions=recording.deletions,
        run_index=recording.run_index,
        locks=locks,
        runs=runs,
        takeovers=recording.takeovers,
        canceller=Canceller(recording.log, runs, locks, report),
        broadcaster=broadcaster,
        streams=RunStreams(broadcaster, observability.errors, report, settings),
        chats=chats,
        client_state=client_state,
        conversations=talk,
        branches=branches,
        live=_live_runs(settings, apps, runs, branches, report),
        forks=Forks(readable, apps, runs, locks, histories, talk, report),
        films=Films(readable, prices=prices_of(settings)),
        heavy=HeavyWork(),
        uploads=Uploads(recording.log, leases, recording.calls),
        recorded=_recorded_runs(settings, recording, lifecycle, report),
        idempotency=idempotency,
        starter=RunStarter(lifecycle, apps, talk, idempotency, resent, client_state, settings),
        evaluator=Evaluator(
            apps, talk, readable, chats, Path(settings.data_dir).absolute(), report
        ),
        files=files,
        observability=observability,
        lifecycle=lifecycle,
        sockets=Sockets(),
        identity=identity,
        tickets=tickets,
        links=links,
        shared_limits=recording.shared,
    )
    _hold(context, leases)
    return context


class _Recording(NamedTuple):
    """What records and stores runs."""

    log: RunLog
    readable: RunLog
    """The log for readers: with what ADK's sessions hold besides."""
    deletions: Deletions
    run_index: RunIndex
    leases: Leases
    locks: SessionLocks
    runs: Runs
    takeovers: Takeovers
    calls: ModelCallWriter
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
) -> _Recording:
    """Return what records and stores runs; `known` says whether callers are known."""
    report, metrics = observability.report, observability.metrics
    leases = open_leases(settings.log, settings.lease)
    locks = SessionLocks(leases, settle=lambda origin, claim: takeovers.settle(origin, claim))
    quota, shared = _quota(settings, lifecycle, observability, known=known)
    index, deletions, secrets = RunIndex(log, report), Deletions(log), observability.secrets
    exports = [TraceExport(log, settings.otlp, report)] if settings.otlp else []

    def ended(run: RunId) -> None:
        index.ended(run)
        for export in exports:
            export.ended(run)

    observer = LogObserver(
        written=metrics.appends.observe,
        committed=metrics.commits.observe,
        following=quota.following,
        left=quota.left,
        stored=index.stored,
        stalled=partial(_tell_stalled, report),
        ended=ended,
        trimmed=RemovedRuns(report, observability.audit.note, settings.retention_size).removed,
    )
    log.attach(
        redact=secrets.payload, streams=partial(redaction_of_a_run, secrets), observer=observer
    )
    detail = settings.detail_of_model_calls(known=known, listens=observability.listens)
    calls, resumable = ModelCallWriter(log, detail, report), partial(can_resume, apps)
    runs = Runs(log, locks, report, leases, quota, metrics, resumable, calls, deletions)
    doubt = InDoubt(settings.in_doubt, settings.in_doubt_tools)
    takeovers = Takeovers(log, apps, runs, leases, report, doubt)
    lifecycle.hold(lambda: _opened_log(log, report))
    lifecycle.hold(lambda: _opened(leases))
    lifecycle.hold(index.indexing)
    for export in exports:
        lifecycle.hold(export.exporting)
    lifecycle.hold(takeovers.watching)
    readable = SessionLog(log, apps, secrets.record, report, deletions)
    return _Recording(
        log, readable, deletions, index, leases, locks, runs, takeovers, calls, shared
    )


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
    counts = open_usage_counters(settings.log) if any(limits) else None
    shared = SharedLimits(counts, observability.report) if counts is not None else None
    if shared is not None:
        lifecycle.hold(shared.counting)
    counted = SharedRunCount(shared, limits.runs, refused) if shared is not None else None
    of_runs = RunLimits(runs=limits.runs, run_time=limits.run_time, unwatched=limits.unwatched)
    return Quota(of_runs, refused, counted), shared


def _keep_house(
    settings: Settings, apps: Apps, recording: _Recording, lifecycle: Lifecycle, report: Report
) -> None:
    """Register what removes runs and sessions."""
    log, locks, leases = recording.log, recording.locks, recording.leases
    jobs: list[Job] = [RunRetention(log, settings.retention, report)]
    if settings.retention_sessions:
        jobs.append(SessionRetention(apps, locks, log, settings.retention_sessions, report))
    lifecycle.hold(lambda: housekeeping(jobs, leases, report))
    removal = DeletedSessions(apps, locks, log, recording.deletions, report)
    lifecycle.hold(
        lambda: housekeeping([removal], leases, report, REMOVAL, "deleted conversations")
    )


def _hold(context: Context, leases: Leases) -> None:
    """Register what else is opened and closed, and what ends when the server goes down."""
    lifecycle, metrics = context.lifecycle, context.metrics
    lifecycle.hold(context.files.opened)
    lifecycle.hold(context.links.closing)
    lifecycle.hold(context.evaluator.evaluating)
    settings = context.settings
    limit = settings.lease / 2 if settings.has_shared_log else BLOCKED
    lifecycle.hold(lambda: measuring(metrics.loop_lag, metrics.loop_blocked, context.report, limit))
    viewers = (context.broadcaster, context.films, context.sockets)
    lifecycle.on_drain(Drain(leases, context.runs, context.live, *viewers))
    add_gauges(metrics, context.runs, context.broadcaster, context.observability.calls, lifecycle)


def _recorded_runs(
    settings: Settings, recording: _Recording, lifecycle: Lifecycle, report: Report
) -> RecordedRuns:
    """Return what takes the runs of recorders, and ends those whose recorder is gone."""
    marks = open_short_lived_values(settings.log)
    if marks is not None:
        lifecycle.hold(lambda: _opened(marks))
    locks = SessionLocks(recording.leases, "record")
    recorded = RecordedRuns(
        recording.log,
        locks,
        report,
        most_bytes=settings.upload_limit,
        calls=recording.calls,
        marks=marks,
    )
    lifecycle.hold(
        lambda: housekeeping([recorded.settle], recording.leases, report, LOST / 6, "recorders")
    )
    return recorded


def _tickets(settings: Settings, lifecycle: Lifecycle) -> TicketOffice:
    """Return tickets that are valid in every process that shares the log."""
    store = open_short_lived_values(settings.log)
    if store is None:
        return Tickets()
    lifecycle.hold(lambda: _opened(store))
    return SharedTickets(store)


def _live_runs(
    settings: Settings, apps: Apps, runs: Runs, branches: SessionBranches, report: Report
) -> LiveRuns:
    options = LiveOptions(
        approval_timeout=settings.approval_timeout,
        client_timeout=settings.client_tool_timeout,
        audio_log_bytes=settings.live_sound_limit if settings.live_sound == "keep" else 0,
        audio_bypass=settings.live_shortcut == "auto",
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


@asynccontextmanager
async def _opened(part: Leases | ShortLivedValues) -> AsyncIterator[None]:
    await part.open()
    try:
        yield
    finally:
        await part.close()
