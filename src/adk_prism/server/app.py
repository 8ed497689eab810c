"""The FastAPI application, and its middleware in the order in which a request passes it.

TrackRequests       request id, access log, metrics, an OpenTelemetry span
Guard               Host, Origin, CORS
ProblemEdge         turns exceptions into problem answers
IdentifyMiddleware  who calls, and how much callers may use
BodyLimit           how large a body may be
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute

from adk_prism.adk import services as adk_services
from adk_prism.adk.app_environment import load_plugins, set_default_model, set_features
from adk_prism.adk.apps import Apps
from adk_prism.adk.tools import ToolTimeouts
from adk_prism.errors import Diagnostic, PrismError, Report, cause_of
from adk_prism.extension import Served, chosen
from adk_prism.log.contract import RunLog
from adk_prism.protocols.adk import routes as adk
from adk_prism.protocols.adk import sessions
from adk_prism.protocols.ag_ui import routes as ag_ui
from adk_prism.protocols.ai_sdk import routes as ai_sdk
from adk_prism.protocols.registry import protocols as installed_protocols
from adk_prism.protocols.studio import routes as studio
from adk_prism.server.context import Context, make_context
from adk_prism.server.host_and_origin import Guard
from adk_prism.server.identity.identity import IdentifyMiddleware
from adk_prism.server.identity.methods import Authenticate
from adk_prism.server.lifecycle import Lifecycle, open_data_folder
from adk_prism.server.observability import Observability, open_observability, secrets_of
from adk_prism.server.problems import RESPONSES, ProblemEdge, add_problems
from adk_prism.server.request_bodies import AGENT_PATH, CHAT_PATH, BodyLimit, PathLimit
from adk_prism.server.request_tracking import TrackRequests
from adk_prism.server.routes import OperatingRoutes, RunsRoutes, protocol_routes
from adk_prism.server.settings import Settings
from adk_prism.version import VERSION
from adk_prism.voice import socket as live


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
    settings = settings or Settings.from_environment()
    observability = open_observability(settings, secrets_of(settings), report)
    return build_app(agents_dir, settings, observability, authenticate)


def build_app(
    agents_dir: str | Path | None,
    settings: Settings,
    observability: Observability,
    authenticate: Authenticate | None = None,
) -> FastAPI:
    """Return an application as `create_app` does, with an operator's side of its own."""
    return assemble(folder_context(agents_dir, settings, observability, authenticate))


def folder_context(
    agents_dir: str | Path | None,
    settings: Settings,
    observability: Observability,
    authenticate: Authenticate | None = None,
    log: RunLog | None = None,
) -> Context:
    """Return the parts of a server of a folder's apps."""
    named = agents_dir or settings.agents_dir
    # Agent code may change the working directory.
    folder = Path(named).absolute() if named else None
    services = make_services(settings, observability, folder)
    apps = _apps(folder, services, settings, observability)
    lifecycle = Lifecycle(observability.report)

    @asynccontextmanager
    async def served_apps() -> AsyncIterator[None]:
        try:
            await adk_services.check_services(services)
            await asyncio.to_thread(apps.compare_environments)
            yield
        finally:
            await apps.close()
            await adk_services.close_services(services)

    lifecycle.hold(served_apps)
    return make_context(settings, apps, lifecycle, observability, log, authenticate=authenticate)


def make_services(
    settings: Settings, observability: Observability, folder: Path | None
) -> adk_services.Services:
    """Return the services that the settings name, and make what else ADK is told for all apps."""
    uris = adk_services.ServiceUris(
        sessions=settings.sessions, artifacts=settings.artifacts, memory=settings.memory
    )
    data = open_data_folder(settings, observability.report)
    set_default_model(settings.default_llm_model)
    set_features(enabled=settings.enable_features, disabled=settings.disable_features)
    return adk_services.open_services(
        uris,
        data_dir=data,
        agents_dir=folder,
        is_local=settings.local_storage,
        change_store=chosen(settings.without).change_store,
    )


def _apps(
    folder: Path | None,
    services: adk_services.Services,
    settings: Settings,
    observability: Observability,
) -> Apps:
    """Return the apps of a folder and the remote ones; the bundled ones only where neither is named."""
    report = observability.report
    extensions = chosen(settings.without).used.values()
    remotes = [app for each in extensions if each.apps for app in each.apps(settings, report)]
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
    features = _features(context)
    _add_routes(app, context, features)
    add_problems(app, context.report, context.errors)
    # The last one added is met first.
    settings = context.settings
    start = context.lifecycle.start_for_request
    paths = _path_limits(settings, features)
    app.add_middleware(BodyLimit, limit=settings.body_limit, other=paths, start=start)
    counting = context.limits.limiters.counting
    app.add_middleware(IdentifyMiddleware, identity=context.identity, limits=counting)
    app.add_middleware(ProblemEdge, report=context.report, texts=context.errors)
    app.add_middleware(
        Guard,
        settings=settings,
        report=context.report,
        listens=context.observability.listens,
        known=context.identity.required,
    )
    app.add_middleware(TrackRequests, calls=context.observability.calls)
    return app


def _features(context: Context) -> dict[str, Served]:
    """Return what features add to a server, by name; one that fails is left out, and reported."""
    extensions = chosen(context.settings.without)
    for fault in extensions.faults:
        context.report(Diagnostic(kind="feature left out", detail=fault))
    features: dict[str, Served] = {}
    for name, extension in extensions.used.items():
        if not features.keys() >= set(extension.requires):
            continue  # One that it needs was left out.
        try:
            features[name] = served = extension.serve(context) if extension.serve else Served()
        except PrismError:  # The operator has to set something else.
            raise
        except Exception as error:  # Another package's code: the rest has to work.
            context.report(Diagnostic(kind="feature left out", detail=name, cause=cause_of(error)))
            continue
        if served.observer is not None:
            context.recording.observers.append(served.observer)
    return features


# ---------------------------------------------------------------------------
# The routers of a server: those of the kernel, then those of features.
#
# Their order counts where two routes fit one path: the first is taken.


def _add_routes(app: FastAPI, context: Context, features: dict[str, Served]) -> None:
    """Add every route as it is.

    `include_router` reads the signature of each of them again, at the first request; for a hundred
    routes that takes as long as making them. A feature with a route that is taken adds none of its routes,
    which is reported.
    """
    owners: dict[tuple[str, str], str] = {}
    _add(app, owners, "adk-prism itself", _routers(context, features))
    for name, served in features.items():
        if fault := _add(app, owners, name, served.routers):
            context.report(Diagnostic(kind="feature left out", detail=fault))
    for served in features.values():
        served.change_routes(app.router.routes)


def _add(
    app: FastAPI, owners: dict[tuple[str, str], str], owner: str, routers: Iterable[APIRouter]
) -> str:
    """Add the routes of one owner; return why not, if one of them is taken."""
    routes = [route for router in routers for route in router.routes]
    claims = {
        (method, route.path): owner
        for route in routes
        if isinstance(route, APIRoute | APIWebSocketRoute)
        for method in getattr(route, "methods", ("WS",))
    }
    for method, path in claims:
        if (method, path) in owners:
            other = owners[method, path]
            return f"The routes of {owner!r} are left out: {method} {path} belongs to {other!r}."
    owners |= claims
    for route in routes:
        if isinstance(route, APIRoute):
            route.responses = {**RESPONSES, **route.responses}
        app.router.routes.append(route)
    return ""


def _routers(context: Context, features: dict[str, Served]) -> Iterator[APIRouter]:
    """Yield the routers of the kernel."""
    yield adk.routes(context.apps, context.lifecycle)
    yield sessions.SessionRoutes(context).router()
    yield adk.RunRoutes(context).router()
    yield ai_sdk.ChatRoutes(context).router()
    yield live.routes(context)
    describe = [each.describe_run for each in features.values() if each.describe_run is not None]
    yield RunsRoutes(context, describe).router()
    yield studio.StudioRoutes(context).router()
    yield ag_ui.AgUiRoutes(context).router()
    yield protocol_routes(context.starter, context.streams)
    yield OperatingRoutes(context, features).router()


def _path_limits(settings: Settings, features: Mapping[str, Served]) -> list[PathLimit]:
    history = max(settings.history_limit, settings.body_limit)
    uploads = [path for each in features.values() for path in each.upload_paths]
    return [
        *(PathLimit(re.compile(path), "--upload-limit", settings.upload_limit) for path in uploads),
        *(limit for each in features.values() for limit in each.body_limits),
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
