"""The routers of a server, each made of the parts that it uses: those of the kernel, then those of features.

Their order counts where two routes fit one path: the first is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute

from adk_prism.errors import Diagnostic
from adk_prism.extension import Served
from adk_prism.protocols import routes as protocols
from adk_prism.protocols.adk import routes as adk
from adk_prism.protocols.adk import sessions
from adk_prism.protocols.ag_ui import routes as ag_ui
from adk_prism.protocols.ai_sdk import routes as ai_sdk
from adk_prism.protocols.studio import routes as studio
from adk_prism.runs.branches import Rewinds
from adk_prism.server.context import Context
from adk_prism.server.problems import RESPONSES
from adk_prism.server.routes import operating, runs
from adk_prism.voice import adk_socket, socket


def add_routes(app: FastAPI, context: Context, features: dict[str, Served]) -> None:
    """Add every route as it is.

    `include_router` reads the signature of each of them again, at the first request; for a hundred
    routes that takes as long as making them. A feature with a route that is taken adds none of its routes,
    which is reported.
    """
    owners: dict[tuple[str, str], str] = {}
    _add(app, owners, "adk-prism itself", _routers(context, features))
    for name, served in features.items():
        fault = _add(app, owners, name, served.routers)
        if fault:
            context.report(Diagnostic(kind="feature left out", detail=fault))


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
    yield from _of_adk(context)
    yield from _of_chats(context)
    yield from _of_runs(context, features)
    yield from _of_protocols(context)
    yield from _of_operation(context, features)


def _of_adk(context: Context) -> Iterator[APIRouter]:
    apps, log, lifecycle = context.apps, context.log, context.lifecycle
    branches = context.conversations.branches
    yield adk.routes(apps, lifecycle)
    yield operating.ready_routes(log, apps, lifecycle)
    yield sessions.SessionRoutes(
        apps,
        context.runs.locks,
        log,
        context.runs.deletions,
        branches,
        Rewinds(apps, context.runs, context.chats, branches, context.report),
        context.starter.client_state,
        context.audit,
        lifecycle,
    ).router()
    yield adk.RunRoutes(apps, log, context.starter, context.streams).router()


def _of_chats(context: Context) -> Iterator[APIRouter]:
    yield ai_sdk.ChatRoutes(
        context.apps,
        context.chats,
        context.runs.canceller,
        context.audit,
        context.starter,
        context.streams,
        context.limits.heavy,
    ).router()
    yield socket.routes(context)
    yield adk_socket.routes(context)


def _of_runs(context: Context, features: dict[str, Served]) -> Iterator[APIRouter]:
    describe = [each.describe_run for each in features.values() if each.describe_run is not None]
    yield runs.RunsRoutes(
        context.log,
        context.runs.canceller,
        context.files,
        context.audit,
        context.streams,
        describe,
    ).router()


def _of_protocols(context: Context) -> Iterator[APIRouter]:
    yield studio.StudioRoutes(context.apps, context.log, context.starter, context.streams).router()
    yield ag_ui.routes(context)
    yield protocols.routes(context.starter, context.streams)


def _of_operation(context: Context, features: dict[str, Served]) -> Iterator[APIRouter]:
    settings, log = context.settings, context.log
    yield operating.error_routes(context.errors)
    yield operating.ticket_routes(context.identity.tickets)
    yield operating.me_routes([*features])
    yield operating.metrics_routes(context.metrics)
    yield operating.audit_routes(context.audit)
    reloads = settings.reloads(listens=context.observability.listens)
    yield operating.setup_routes(settings, log, [*features], reloads=reloads)
