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

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import CallRecorder
from adk_prism.adk.tools import InDoubt
from adk_prism.errors import Diagnostic, LogError, Report, cause_of
from adk_prism.extension import LimiterParts, Limiters, Observers, chosen
from adk_prism.log.contract import LogObserver, RunLog
from adk_prism.log.coordination import Coordination, Leases
from adk_prism.log.from_url import open_coordination, open_log
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.broadcast import Broadcaster
from adk_prism.runs.chats import Chats
from adk_prism.runs.conversations import Conversations
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.runs.session_log import Deletions, ReadableLog
from adk_prism.runs.takeover import Takeovers, can_resume
from adk_prism.server.identity.identity import Identity, build_identity
from adk_prism.server.identity.methods import Authenticate, Tickets
from adk_prism.server.lifecycle import Lifecycle, opened
from adk_prism.server.observability import AuditLog, Observability, redaction_of_a_run
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.run_files import RunFiles
from adk_prism.server.run_starter import ClientState, Idempotency, RunStarter
from adk_prism.server.run_streams import RunStreams
from adk_prism.server.settings import Settings
from adk_prism.server.throttling import HeavyWork
from adk_prism.voice.source import LiveRuns


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What records and stores runs."""

    log: RunLog
    """As it is stored."""
    coordination: Coordination
    """What the processes that share the log coordinate by."""
    leases: Leases
    calls: CallRecorder | None
    """Stores model calls; None without the feature."""
    takeovers: Takeovers
    observers: Observers
    """See the runs of this process: features add theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much callers may use."""

    limiters: Limiters
    """Those that features bring."""
    heavy: HeavyWork


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The parts of one server."""

    settings: Settings
    apps: Apps
    log: RunLog
    """For readers: without deleted conversations, and with what features add."""
    recording: Recording
    runs: Runs
    chats: Chats
    live: LiveRuns
    streams: RunStreams
    starter: RunStarter
    files: RunFiles
    limits: Limits
    observability: Observability
    lifecycle: Lifecycle
    identity: Identity

    @property
    def conversations(self) -> Conversations:
        """Carries commands out."""
        return self.starter.conversations

    @property
    def report(self) -> Report:
        """Tells the operator."""
        return self.observability.report

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
    log = log or open_log(settings.log, partial(_warn, report), settings.without)
    coordination = open_coordination(settings.log, settings.without)
    values = coordination.values()
    lifecycle.hold(lambda: opened(values))
    identity = build_identity(settings, Tickets(values), authenticate, report)
    extensions = chosen(settings.without)
    parts = LimiterParts(settings, identity.required, log, coordination, lifecycle, observability)
    limiters = Limiters(extensions.limiters(parts))
    recording, runs = _recording(parts, apps, limiters)
    readable = extensions.readable_log(
        ReadableLog(log, runs.deletions), apps, observability.secrets, report
    )
    leases = recording.leases
    chats, note = Chats(readable), observability.audit.note
    branches = SessionBranches(log, apps, chats, runs.locks)
    deciding = SessionLocks(leases, "deciding")
    talk = Conversations(apps, runs, runs.locks, chats, branches, report, deciding, note)
    files = RunFiles(readable, chats, apps, settings.files_limit)
    broadcaster = Broadcaster(readable, settings.keep_alive, live=log)
    context = Context(
        settings=settings,
        apps=apps,
        log=readable,
        recording=recording,
        runs=runs,
        chats=chats,
        live=LiveRuns(apps, runs, branches, settings, report),
        streams=RunStreams(
            broadcaster,
            observability.errors,
            report,
            settings,
            chosen(settings.without).annotators(settings),
        ),
        starter=RunStarter(
            lifecycle,
            apps,
            talk,
            Idempotency(log, SessionLocks(leases, "key")),
            ClientState(apps, settings.client_state),
            settings,
        ),
        files=files,
        limits=Limits(limiters=limiters, heavy=HeavyWork()),
        observability=observability,
        lifecycle=lifecycle,
        identity=identity,
    )
    _hold(context)
    return context


def _recording(parts: LimiterParts, apps: Apps, limiters: Limiters) -> tuple[Recording, Runs]:
    """Return what records and stores runs."""
    settings, known, log, coordination, lifecycle, observability = parts
    report, meter = observability.report, observability.meter
    leases = coordination.leases(settings.lease)
    locks = SessionLocks(leases, settle=lambda origin, claim: takeovers.settle(origin, claim))
    secrets, observers = observability.secrets, Observers()

    observer = LogObserver(
        written=meter.appended,
        committed=meter.committed,
        following=limiters.following,
        left=limiters.left,
        stored=observers.stored,
        stalled=partial(_tell_stalled, report),
        ended=observers.ended,
        trimmed=observers.removed,
    )
    log.attach(
        redact=secrets.payload, streams=partial(redaction_of_a_run, secrets), observer=observer
    )
    detail = settings.detail_of_model_calls(known=known, listens=observability.listens)
    calls = chosen(settings.without).call_recorder(log, detail, report)
    resumable = partial(can_resume, apps)
    runs = Runs(log, locks, report, leases, limiters, meter, resumable, calls, Deletions(log))
    doubt = InDoubt(settings.on_crash, settings.on_crash_tools)
    takeovers = Takeovers(log, apps, runs, leases, report, doubt)
    lifecycle.hold(lambda: _opened_log(log, report))
    lifecycle.hold(lambda: opened(leases))
    lifecycle.hold(takeovers.watching)
    recording = Recording(
        log=log,
        coordination=coordination,
        leases=leases,
        calls=calls,
        takeovers=takeovers,
        observers=observers,
    )
    return recording, runs


def _warn(report: Report, text: str) -> None:
    report(Diagnostic(kind="run log warning", detail=text))


def _tell_stalled(report: Report, is_stalled: bool) -> None:
    report(
        Diagnostic(
            kind="run log unavailable" if is_stalled else "run log available again",
            detail="It cannot be written; runs fail until it can." if is_stalled else "",
        )
    )


def _hold(context: Context) -> None:
    """Register what else is opened and closed, and what ends when the server goes down."""
    lifecycle, streams = context.lifecycle, context.streams
    lifecycle.on_cut(streams.broadcaster.leave_all)
    lifecycle.on_cut(streams.sockets.close_all)
    lifecycle.on_drain(partial(_drain, context))
    lifecycle.on_drain(partial(_drain_live, context))


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

LAST_FRAMES = 1.0
"""Seconds in which viewers may take the end of a run that was stopped; less of a short grace period."""
LAST_FRAMES_SHARE = 0.4
"""Of the time that runs had: with it, all steps fit into the grace period."""


async def _drain(context: Context, patience: float) -> None:
    """Take no new runs; let runs end within `patience` seconds, then stop them or hand them over."""
    lifecycle, streams, loop = context.lifecycle, context.streams, asyncio.get_running_loop()
    context.runs.refuse_new()
    if await context.recording.leases.has_others():
        lifecycle.cut()
    else:
        streams.sockets.close_idle()
    until = loop.time() + patience
    try:
        await context.runs.drain(patience)
        # Viewers of runs that have ended are owed the end.
        seconds = max(until - loop.time(), min(LAST_FRAMES, patience * LAST_FRAMES_SHARE))
        await asyncio.gather(
            streams.broadcaster.finished(seconds), streams.sockets.finished(seconds)
        )
    finally:
        lifecycle.cut()


async def _drain_live(context: Context, patience: float) -> None:
    """End live conversations, which no other process can continue, but to which a client can come back."""
    has_others = await context.recording.leases.has_others()
    await context.live.drain(0.0 if has_others else patience)
