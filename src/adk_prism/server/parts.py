"""The parts of one server, made and joined: what keeps runs, what shows them, what talks, who calls.

Nothing is opened here. What needs opening is held by the lifecycle, in the order in which it is named, and
closed in the reverse; what has to end first when the server goes down says so to it, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from adk_prism.diagnostics import Report
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.closeup import Closeups
from adk_prism.pipeline.conversation import Conversations
from adk_prism.pipeline.films import Films
from adk_prism.pipeline.follow import Follower
from adk_prism.pipeline.forks import Forks
from adk_prism.pipeline.gate import Gate
from adk_prism.pipeline.history import Histories
from adk_prism.pipeline.live import LiveRuns
from adk_prism.pipeline.quota import Quota, RunLimits, WatchedLog
from adk_prism.pipeline.redacted_log import RedactedLog
from adk_prism.pipeline.rewinds import Rewinds
from adk_prism.pipeline.runs import Runs
from adk_prism.pipeline.session_log import SessionLog
from adk_prism.pipeline.takeover import Takeovers
from adk_prism.pipeline.uploads import Uploads
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.leases import Leases
from adk_prism.runlog.open import open_leases, open_log, open_shelf
from adk_prism.runlog.shelf import Shelf
from adk_prism.server.context import Context
from adk_prism.server.files.run_files import RunFiles
from adk_prism.server.housekeeping import trimming
from adk_prism.server.idempotency import Idempotency
from adk_prism.server.identity.build import build_identity
from adk_prism.server.identity.callback import Authenticate
from adk_prism.server.identity.share_links import ShareLinks, file_of
from adk_prism.server.identity.shared_tickets import SharedTickets
from adk_prism.server.identity.tickets import TicketOffice, Tickets
from adk_prism.server.lifecycle import Hook, Lifecycle
from adk_prism.server.limits.caller_limits import CallerLimits
from adk_prism.server.operating.metrics.gauges import add_gauges
from adk_prism.server.operating.metrics.loop_lag import BLOCKED, measuring
from adk_prism.server.operating.metrics.measured_log import MeasuredLog
from adk_prism.server.operating.operations import Operations
from adk_prism.server.secrecy import secrets_of
from adk_prism.server.settings import DATA_DIR, Settings
from adk_prism.server.sockets import Sockets
from adk_prism.source.apps import Apps
from adk_prism.source.live.options import LiveOptions


def make_context(
    settings: Settings,
    apps: Apps,
    lifecycle: Lifecycle,
    operations: Operations,
    log: RunLog | None = None,
    *,
    authenticate: Authenticate | None = None,
) -> Context:
    """Return the parts of a server; those that need opening are held by its lifecycle."""
    report, note = operations.report, operations.audit.note
    apps.tool_threads = settings.tool_threads
    tickets, links = _tickets(settings, lifecycle), ShareLinks(file_of(settings.log, DATA_DIR))
    identity = build_identity(settings, tickets, links, authenticate)
    limits = settings.limits(known=identity.required)
    kept = _kept(settings, apps, lifecycle, operations, limits, log)
    chats, deciding = Chats(kept.readable), Gate(kept.leases, "deciding")
    talk = Conversations(apps, kept.runs, kept.gate, chats, report, deciding, note)
    histories = Histories(kept.readable, chats)
    context = Context(
        settings=settings,
        apps=apps,
        log=kept.shown,
        gate=kept.gate,
        runs=kept.runs,
        follower=Follower(kept.shown, settings.keep_alive),
        chats=chats,
        conversations=talk,
        live=_live_runs(settings, apps, kept.runs, report),
        rewinds=Rewinds(apps, kept.runs, chats, report),
        forks=Forks(kept.readable, apps, kept.runs, kept.gate, histories, talk, report),
        films=Films(kept.shown),
        closeups=Closeups(kept.readable),
        uploads=Uploads(kept.log, kept.leases),
        idempotency=Idempotency(kept.log, Gate(kept.leases, "key")),
        files=RunFiles(kept.shown, chats, apps, settings),
        operations=operations,
        lifecycle=lifecycle,
        sockets=Sockets(),
        identity=identity,
        tickets=tickets,
        links=links,
    )
    _hold(context)
    return context


class _Kept(NamedTuple):
    """What keeps the runs."""

    log: RunLog
    readable: RunLog
    """The log for readers, completed by what ADK's sessions hold."""
    shown: RunLog
    """The same for whoever shows runs: those who follow one there watch it."""
    leases: Leases
    gate: Gate
    runs: Runs


def _kept(
    settings: Settings,
    apps: Apps,
    lifecycle: Lifecycle,
    operations: Operations,
    limits: CallerLimits,
    given: RunLog | None,
) -> _Kept:
    report, metrics = operations.report, operations.metrics
    log = RedactedLog(given or open_log(settings.log), secrets_of(settings))
    leases = open_leases(settings.log, settings.lease)
    gate = Gate(leases)
    of_runs = RunLimits(runs=limits.runs, run_time=limits.run_time, unwatched=limits.unwatched)
    quota = Quota(of_runs, metrics.refused)
    runs = Runs(MeasuredLog(log, metrics), gate, report, leases, quota, metrics)
    takeovers = Takeovers(log, apps, runs, leases, report, settings.in_doubt)
    gate.settle, runs.can_go_on = takeovers.settle, takeovers.can_go_on
    lifecycle.hold(lambda: _opened(log))
    lifecycle.hold(lambda: _opened(leases))
    lifecycle.hold(takeovers.watching)
    lifecycle.hold(lambda: trimming(log, settings.retention, report))
    readable = SessionLog(log, apps, secrets_of(settings).record, report)
    shown = WatchedLog(readable, quota) if limits.unwatched else readable
    return _Kept(log, readable, shown, leases, gate, runs)


def _hold(context: Context) -> None:
    """Have what is not the log's opened and closed, and everything end when the server goes down."""
    lifecycle, metrics = context.lifecycle, context.metrics
    lifecycle.hold(context.files.opened)
    lifecycle.hold(context.links.closing)
    settings = context.settings
    limit = settings.lease / 2 if settings.has_shared_log else BLOCKED
    lifecycle.hold(lambda: measuring(metrics.loop_lag, metrics.loop_blocked, context.report, limit))
    for hook in (
        context.runs.drain,
        _leaving(context.follower),
        _leaving(context.films),
        context.live.drain,
        context.sockets.drain,
    ):
        lifecycle.on_drain(hook)
    add_gauges(metrics, context)


def _tickets(settings: Settings, lifecycle: Lifecycle) -> TicketOffice:
    """Return tickets that every process knows that shares the log."""
    shelf = open_shelf(settings.log)
    if shelf is None:
        return Tickets()
    lifecycle.hold(lambda: _opened(shelf))
    return SharedTickets(shelf)


def _live_runs(settings: Settings, apps: Apps, runs: Runs, report: Report) -> LiveRuns:
    options = LiveOptions(
        approval_timeout=settings.approval_timeout,
        client_timeout=settings.client_tool_timeout,
        sound_kept=settings.live_sound_limit if settings.live_sound == "keep" else 0,
        shortcut=settings.live_shortcut == "auto",
    )
    return LiveRuns(
        apps,
        runs,
        report,
        options=options,
        grace=settings.live_grace,
        second=settings.live_busy,
        busy=settings.chat_busy,
    )


def _leaving(watched: Follower | Films) -> Hook:
    """Return a drain hook that lets every viewer go, so that its client comes back."""

    async def leave(_: float) -> None:
        watched.leave_all()

    return leave


@asynccontextmanager
async def _opened(part: RunLog | Leases | Shelf) -> AsyncIterator[None]:
    await part.open()
    try:
        yield
    finally:
        await part.close()
