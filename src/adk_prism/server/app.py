"""The FastAPI application, and its middleware in the order in which a request passes it.

ResumeAddress       corrects the URL with which a chat client resumes
TrackRequests       request id, access log, metrics
Trace               an OpenTelemetry span, where spans are collected
Guard               Host, Origin, CORS
ProblemEdge         turns exceptions into problem answers
IdentifyMiddleware  who calls
LimitMiddleware     how much one caller may have
StartOnce           starts a mounted application with its first request
BodyLimit           how large a request body may be
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.pipeline.protocols import protocols as installed_protocols
from adk_prism.server.configured_secrets import secrets_of
from adk_prism.server.context import Context
from adk_prism.server.data_folder import open_data_folder
from adk_prism.server.guards.body_limit import BodyLimit, PathLimit
from adk_prism.server.guards.chat_body import AGENT_PATH, CHAT_PATH
from adk_prism.server.guards.host_and_origin import Guard
from adk_prism.server.identity.callback import Authenticate
from adk_prism.server.identity.identity import IdentifyMiddleware
from adk_prism.server.identity.open_connections import OpenConnections
from adk_prism.server.lifecycle import Lifecycle, StartOnce
from adk_prism.server.limits.limit_middleware import LimitMiddleware
from adk_prism.server.observability.observability import Observability, open_observability
from adk_prism.server.observability.request_tracking import TrackRequests
from adk_prism.server.observability.tracing import Trace
from adk_prism.server.problem_format import RESPONSES
from adk_prism.server.problems import ProblemEdge, add_problems
from adk_prism.server.resume_url import ResumeAddress
from adk_prism.server.routers import add_routes
from adk_prism.server.routes import recorder, recordings
from adk_prism.server.settings import Settings
from adk_prism.server.settings.sources import read_settings
from adk_prism.server.wiring import make_context
from adk_prism.source.adk.a2a_server import require_a2a
from adk_prism.source.adk_settings import set_default_model, set_features
from adk_prism.source.apps import Apps
from adk_prism.source.extra_plugins import load_plugins
from adk_prism.source.remote.app import RemoteApp
from adk_prism.source.services import (
    Services,
    ServiceUris,
    check_services,
    close_services,
    open_services,
)
from adk_prism.source.tool_timeouts import ToolTimeouts
from adk_prism.version import VERSION


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
    observability = open_observability(settings, secrets_of(settings), report)
    return build_app(agents_dir, settings, observability, authenticate)


def build_app(
    agents_dir: str | Path | None,
    settings: Settings,
    observability: Observability,
    authenticate: Authenticate | None = None,
) -> FastAPI:
    """Return an application as `create_app` does, with an operator's side of its own."""
    named = agents_dir or settings.agents_dir
    # Agent code may change the working directory.
    folder = Path(named).absolute() if named else None
    uris = ServiceUris(
        sessions=settings.sessions, artifacts=settings.artifacts, memory=settings.memory
    )
    if settings.a2a:
        require_a2a()
    data = open_data_folder(settings, observability.report)
    set_default_model(settings.default_llm_model)
    set_features(enabled=settings.enable_features, disabled=settings.disable_features)
    services = open_services(
        uris, data_dir=data, agents_dir=folder, is_local=settings.local_storage
    )
    apps = _apps(folder, services, settings, observability)
    lifecycle = Lifecycle(observability.report)

    @asynccontextmanager
    async def served_apps() -> AsyncIterator[None]:
        try:
            await check_services(services)
            await asyncio.to_thread(apps.compare_environments)
            yield
        finally:
            await apps.close()
            await close_services(services)

    lifecycle.hold(served_apps)
    return assemble(
        make_context(settings, apps, lifecycle, observability, authenticate=authenticate)
    )


def _apps(
    folder: Path | None, services: Services, settings: Settings, observability: Observability
) -> Apps:
    """Return the apps of a folder and the remote ones; the bundled ones only where neither is named."""
    report = observability.report
    remotes = remote_apps(settings, report)
    if folder is None and remotes:
        return Apps.of_runners({}, report=report, remotes=remotes)
    return Apps.of_folder(
        folder,
        services,
        report=report,
        tool_threads=settings.tool_threads,
        tool_timeouts=ToolTimeouts(*settings.tool_timeouts),
        max_llm_calls=settings.max_llm_calls,
        extra=load_plugins(settings.extra_plugins, folder),
        remotes=remotes,
        reloads=settings.reloads(listens=observability.listens),
        variables_seen=observability.secrets.learn_variables,
    )


def _opened(context: Context) -> OpenConnections:
    """Return the open connections, which a link that is revoked here ends at once."""
    opened = OpenConnections(context.report)
    context.links.on_revoked(lambda link: opened.end(f"link {link}"))
    return opened


def remote_apps(settings: Settings, report: Report) -> list[RemoteApp]:
    """Return the remote apps; nothing is connected yet."""
    return [RemoteApp(remote, report) for remote in settings.remotes]


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
        # FastAPI's own spans, in versions that make some, hold the query: tickets and share links.
        telemetry={"tracing": False},
    )
    app.state.context = context
    for fault in installed_protocols().faults:
        context.report(Diagnostic(kind="protocol left out", detail=fault))
    add_routes(app, context)
    add_problems(app, context.report, context.errors)
    # The last one added is met first.
    settings = context.settings
    app.add_middleware(BodyLimit, limit=settings.body_limit, other=_path_limits(settings))
    app.add_middleware(StartOnce, lifecycle=context.lifecycle)
    limits = settings.limits(known=context.identity.required)
    if any(limits):
        refused, shared = context.metrics.refused, context.shared_limits
        app.add_middleware(LimitMiddleware, limits=limits, refused=refused, shared=shared)
    app.add_middleware(IdentifyMiddleware, identity=context.identity, opened=_opened(context))
    app.add_middleware(ProblemEdge, report=context.report, errors=context.errors)
    listens = context.observability.listens
    app.add_middleware(Guard, settings=settings, report=context.report, listens=listens)
    app.add_middleware(Trace)
    app.add_middleware(TrackRequests, calls=context.observability.calls)
    app.add_middleware(ResumeAddress)
    return app


def _path_limits(settings: Settings) -> list[PathLimit]:
    history = max(settings.history_limit, settings.body_limit)
    return [
        PathLimit(
            re.compile(f"{recordings.PATH}|{recorder.PATH}"),
            "--upload-limit",
            settings.upload_limit,
        ),
        PathLimit(CHAT_PATH, "--history-limit", history),
        PathLimit(AGENT_PATH, "--history-limit", history),
    ]


def lifespan_of(lifecycle: Lifecycle) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Return a lifespan for an ASGI application that runs this lifecycle."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        await lifecycle.start()
        try:
            yield
        finally:
            await lifecycle.stop()

    return lifespan
