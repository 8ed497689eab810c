"""The whole application: parts put together, and the order in which a request meets them.

    Guard         who may call at all (Host, Origin, CORS)
    ProblemEdge   whatever is raised inside becomes a problem answer
    Identify      who calls
    Limit         how much one caller may have
    StartOnce     a mounted application starts with its first request
    BodyLimit     how much may be sent
    routes        what there is

`ROUTERS` is the list of routes modules; each is a function from the context to a router.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI

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
from adk_prism.pipeline.takeover import Takeovers
from adk_prism.pipeline.uploads import Uploads
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.leases import Leases
from adk_prism.runlog.open import open_leases, open_log
from adk_prism.server import home, page
from adk_prism.server.body_limit import BodyLimit
from adk_prism.server.context import Context
from adk_prism.server.diagnostics_sink import sink
from adk_prism.server.guard import Guard
from adk_prism.server.housekeeping import trimming
from adk_prism.server.idempotency import Idempotency
from adk_prism.server.identity.build import build_identity
from adk_prism.server.identity.callback import Authenticate
from adk_prism.server.identity.identify import Identify
from adk_prism.server.lifecycle import Hook, Lifecycle, StartOnce
from adk_prism.server.limits.limit import Limit
from adk_prism.server.problems import RESPONSES, ProblemEdge, add_problems
from adk_prism.server.routes import (
    adk_artifacts,
    adk_meta,
    adk_sessions,
    catalogue,
    chat,
    film,
    forks,
    live,
    ready,
    recordings,
    run,
    runs,
    share_links,
    socket,
    studio,
    tickets,
    views,
)
from adk_prism.server.settings import DATA_DIR, Settings, read_settings
from adk_prism.server.share_links import ShareLinks, file_of
from adk_prism.server.sockets import Sockets
from adk_prism.server.tickets import Tickets
from adk_prism.source.apps import Apps
from adk_prism.source.live.options import LiveOptions
from adk_prism.source.secrets import Secrets, secret_values
from adk_prism.source.services import ServiceUris, close_services, open_services
from adk_prism.version import VERSION

Routes = Callable[[Context], APIRouter]

ROUTERS: Sequence[Routes] = (
    home.routes,
    page.routes,
    catalogue.routes,
    adk_meta.routes,
    ready.routes,
    adk_sessions.routes,
    adk_artifacts.routes,
    run.routes,
    chat.routes,
    socket.routes,
    live.routes,
    runs.routes,
    views.routes,
    film.routes,
    forks.routes,
    recordings.routes,
    studio.routes,
    tickets.routes,
    share_links.routes,
)


def create_app(
    agents_dir: str | Path | None = None,
    settings: Settings | None = None,
    *,
    report: Report | None = None,
    authenticate: Authenticate | None = None,
) -> FastAPI:
    """Return an application that serves every ADK app of a folder, or the bundled ones.

    Without `settings` the environment and pyproject.toml decide, as for `adk-prism serve`. Nothing
    is opened until the application starts. `authenticate` says who calls; then everybody has to be
    known. Raise `UsageError` for a folder, file or URI that cannot be.
    """
    settings = settings or read_settings({}, os.environ, Path.cwd())
    report = secrets_of(settings).telling(report or sink(settings.log_format))
    folder = Path(agents_dir or settings.agents_dir) if agents_dir or settings.agents_dir else None
    uris = ServiceUris(
        sessions=settings.sessions, artifacts=settings.artifacts, memory=settings.memory
    )
    services = open_services(uris, data_dir=DATA_DIR, agents_dir=folder)
    apps = Apps.of_folder(folder, services, report=report)
    lifecycle = Lifecycle(report)

    @asynccontextmanager
    async def served_apps() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await apps.close()
            await close_services(services)

    lifecycle.hold(served_apps)
    return assemble(make_context(settings, apps, lifecycle, report, authenticate=authenticate))


def secrets_of(settings: Settings) -> Secrets:
    """Return what nobody is shown or told."""
    given = secret_values(os.environ, (settings.log, settings.sessions, settings.artifacts))
    return Secrets(given, settings.redact, settings.reveal)


def make_context(
    settings: Settings,
    apps: Apps,
    lifecycle: Lifecycle,
    report: Report,
    log: RunLog | None = None,
    *,
    authenticate: Authenticate | None = None,
) -> Context:
    """Return the parts of a server; those that need opening are held by its lifecycle."""
    log = RedactedLog(log or open_log(settings.log), secrets_of(settings))
    leases = open_leases(settings.log, settings.lease)
    gate = Gate(leases)
    tickets, links = Tickets(), ShareLinks(file_of(settings.log, DATA_DIR))
    identity = build_identity(settings, tickets, links, authenticate)
    limits = settings.limits(known=identity.required)
    run_limits = RunLimits(runs=limits.runs, run_time=limits.run_time, unwatched=limits.unwatched)
    quota = Quota(run_limits, report)
    shown: RunLog = WatchedLog(log, quota) if limits.unwatched else log
    runs = Runs(log, gate, report, leases, quota)
    takeovers = Takeovers(log, apps, runs, leases, report, settings.in_doubt)
    gate.settle, runs.can_go_on = takeovers.settle, takeovers.can_go_on
    lifecycle.hold(lambda: _opened(log))
    lifecycle.hold(lambda: _opened(leases))
    lifecycle.hold(takeovers.watching)
    lifecycle.hold(lambda: trimming(log, settings.retention, report))
    lifecycle.on_drain(runs.drain)
    follower = Follower(shown, settings.keep_alive)
    films = Films(shown)
    for left in (follower, films):
        lifecycle.on_drain(_leaving(left))
    chats = Chats(log)
    conversations = Conversations(apps, runs, gate, chats, report, Gate(leases, "deciding"))
    live_runs = _live_runs(settings, apps, runs, report)
    sockets = Sockets()
    lifecycle.on_drain(live_runs.drain)
    lifecycle.on_drain(sockets.drain)
    lifecycle.hold(links.closing)
    return Context(
        settings=settings,
        apps=apps,
        log=shown,
        gate=gate,
        runs=runs,
        follower=follower,
        chats=chats,
        conversations=conversations,
        live=live_runs,
        rewinds=Rewinds(apps, runs, chats, report),
        forks=Forks(log, apps, runs, gate, Histories(log, chats), conversations, report),
        films=films,
        closeups=Closeups(log),
        uploads=Uploads(log, leases),
        idempotency=Idempotency(log, Gate(leases, "key")),
        report=report,
        lifecycle=lifecycle,
        sockets=sockets,
        identity=identity,
        tickets=tickets,
        links=links,
    )


def _live_runs(settings: Settings, apps: Apps, runs: Runs, report: Report) -> LiveRuns:
    options = LiveOptions(
        approval_timeout=settings.approval_timeout,
        client_timeout=settings.client_tool_timeout,
        sound_kept=settings.live_sound_limit if settings.live_sound == "keep" else 0,
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


def assemble(context: Context) -> FastAPI:
    """Return the application around a context."""
    app = FastAPI(
        title="adk-prism",
        summary="One ADK run in; every front end out",
        version=VERSION,
        docs_url=None,  # Ours, which loads nothing from elsewhere.
        redoc_url=None,
        responses=RESPONSES,
        lifespan=lifespan_of(context.lifecycle),
    )
    app.state.context = context
    for routes in ROUTERS:
        app.include_router(routes(context))
    add_problems(app, context.report)
    # The last one added is met first.
    settings = context.settings
    uploads = {recordings.PATH: ("--upload-limit", settings.upload_limit)}
    app.add_middleware(BodyLimit, limit=settings.body_limit, other=uploads)
    app.add_middleware(StartOnce, lifecycle=context.lifecycle)
    limits = settings.limits(known=context.identity.required)
    if any(limits):
        app.add_middleware(Limit, limits=limits)
    app.add_middleware(Identify, identity=context.identity, links=context.links)
    app.add_middleware(ProblemEdge, report=context.report)
    app.add_middleware(Guard, settings=settings)
    return app


def lifespan_of(
    lifecycle: Lifecycle,
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Return a lifespan for an ASGI application that runs this lifecycle."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        await lifecycle.start()
        try:
            yield
        finally:
            await lifecycle.stop()

    return lifespan


@asynccontextmanager
async def _opened(part: RunLog | Leases) -> AsyncIterator[None]:
    await part.open()
    try:
        yield
    finally:
        await part.close()
