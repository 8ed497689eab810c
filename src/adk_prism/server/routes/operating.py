"""`GET /ready`: whether a load balancer should send new work here.

The run log is written to and the sessions are read, within a bound that is shorter than the period of any
usual probe. Whoever asks meanwhile, or shortly after, gets the same answer: anybody may ask, and each
question writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.capabilities import probe_all, switched_off
from adk_prism.errors import LogError, NotFound, PrismError, UsageError
from adk_prism.log.contract import RunLog
from adk_prism.protocols.adk.sessions import Health, Readiness
from adk_prism.server.identity.caller import Principal, caller_of
from adk_prism.server.identity.identity import Administrator, CallerOf
from adk_prism.server.identity.methods import (
    LONGEST_URL,
    TICKET_LIFETIME,
    TicketOffice,
    place_of_url,
)
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.metrics import Metrics
from adk_prism.server.observability.observability import AuditLine, AuditLog
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.settings import Settings
from adk_prism.version import packages

BOUND = 1.5
"""Seconds for the stores to answer; one that takes longer is away. Probes come every two seconds or less
often."""

KEPT = 1.0
"""Seconds for which an answer is given to whoever asks."""


def ready_routes(log: RunLog, apps: Apps, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of readiness."""
    router = APIRouter(tags=["operating"])
    probe = _Probe(lambda: _ask(log, apps))

    @router.get("/ready", responses={503: {"model": Health}}, response_model_exclude_none=True)
    async def ready(response: Response) -> Readiness:
        """Tell whether the server takes new work, and its stores are there; 503 if not."""
        if lifecycle.draining:
            response.status_code = 503
            return Readiness(status="draining")
        await probe()
        return Readiness(status="ok", detail=switched_off() or None)

    return router


async def _ask(log: RunLog, apps: Apps) -> None:
    try:
        async with asyncio.timeout(BOUND):
            await log.probe()
            await apps.check_sessions()
    except TimeoutError:
        raise LogError("The run log or the session store did not answer in time.") from None


class _Probe:
    """A question that is asked once for all who want to know."""

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        self._ask = ask
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._error: PrismError | None = None

    async def __call__(self) -> None:
        """Raise what the question raised."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            if loop.time() >= self._until:
                try:
                    await self._ask()
                    self._error = None
                except PrismError as error:
                    self._error = error
                self._until = loop.time() + KEPT
            found = self._error
        if found is not None:
            raise found.with_traceback(None)


# ---------------------------------------------------------------------------
# `GET /api/setup`: how this server is set up: versions, what works with them, and what is stored where.
#
# It says where things are, so where callers are known it is for administrators. Addresses are shown
# without user names, passwords and parameters.


def setup_routes(
    settings: Settings, log: RunLog, features: Sequence[str], *, reloads: bool
) -> APIRouter:
    """Return the router of the set-up; `reloads`: apps are loaded again when their files change."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/setup")
    async def setup() -> dict[str, Any]:
        """Return versions, capabilities with what is off and why, storage with its size, and reloading.

        `places` names where sessions, artifacts and memory are; empty: the default.
        """
        runs = await log.list()
        return {
            "packages": [package._asdict() for package in packages()],
            "capabilities": await asyncio.to_thread(_capabilities),
            "log": {
                "place": shown_place(settings.log),
                "runs": len(runs),
                "bytes": sum(run.bytes for run in runs),
                "maxAge": settings.retention_age,
                "maxBytes": settings.retention_size,
            },
            "places": {
                "sessions": shown_place(settings.sessions),
                "artifacts": shown_place(settings.artifacts),
                "memory": shown_place(settings.memory),
            },
            "dataDir": settings.data_dir,
            "localStorage": settings.local_storage,
            "reloads": reloads,
            "features": sorted(features),
        }

    return router


def _capabilities() -> list[dict[str, Any]]:
    return [
        {
            "name": each.capability.name,
            "summary": each.capability.summary,
            "on": each.is_on,
            "problem": each.problem,
            "without": each.capability.without,
        }
        for each in probe_all()
    ]


def shown_place(url: str) -> str:
    """Return a URL without what may be secret: user name, password and parameters."""
    scheme, sign, rest = url.partition("://")
    # A password may hold any sign, so what stands before the last @ is cut, wherever that is.
    place = rest.rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{scheme}{sign}{place}" if sign else url.partition("?")[0]


# ---------------------------------------------------------------------------
# `GET /metrics`: the metrics of this process, for Prometheus.

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_routes(collected: Metrics) -> APIRouter:
    """Return the router of metrics."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return the metrics in Prometheus's text format."""
        return Response(collected.text(), headers={"content-type": MEDIA_TYPE})

    return router


# ---------------------------------------------------------------------------
# `GET /api/audit`: who did what, for administrators.

MAX_LIMIT = 1000
"""Actions in one answer."""


def audit_routes(audit_log: AuditLog) -> APIRouter:
    """Return the router of the audit log."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/audit")
    async def audit(
        action: str = "",
        by: str = "",
        user: str = "",
        run: str = "",
        before: Annotated[float, Query(description="Seconds since 1970; 0: now.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
    ) -> list[dict[str, Any]]:
        """Return the last actions that match, the newest first."""
        if not audit_log.is_kept:
            raise NotFound(
                "This server has no audit log; the operator can enable it with --audit FILE."
            )
        filters = {"action": action, "by": by, "user": user, "run": run}
        asked = {name: value for name, value in filters.items() if value}

        def wanted(line: AuditLine) -> bool:
            is_earlier = not before or line.time < before
            return is_earlier and all(getattr(line, n) == v for n, v in asked.items())

        return [msgspec.to_builtins(found) for found in await audit_log.last(limit, wanted)]

    return router


# ---------------------------------------------------------------------------
# `GET /api/me`: who the server takes the caller for, so that a client can show it, or ask for a token.


def me_routes(features: Sequence[str]) -> APIRouter:
    """Return the router of the caller's own name, and of the features that there are."""
    router = APIRouter(tags=["identity"])

    @router.get("/api/me")
    async def me(caller: CallerOf) -> dict[str, Any]:
        """Return the caller's name and whether it is an administrator; null where nobody is asked.

        `features`: those that this server runs, for a page that offers them.
        """
        shown = {"features": sorted(features)}
        if isinstance(caller, Principal):
            return {"user": caller.user, "admin": caller.admin, **shown}
        return {"user": None, "admin": False, **shown}

    return router


# ---------------------------------------------------------------------------
# `POST /api/tickets`: a ticket for one URL, for clients that can send no header.


class TicketRequest(BaseModel):
    """What a ticket is wanted for."""

    url: str = Field(
        max_length=LONGEST_URL,
        description="Path and query that will be opened, such as /api/runs/run-1/stream?as=studio.",
    )


def ticket_routes(tickets: TicketOffice) -> APIRouter:
    """Return the router of tickets."""
    router = APIRouter(route_class=StrictRoute, tags=["identity"])

    @router.post("/api/tickets")
    async def issue(request: Request, asked: TicketRequest) -> dict[str, Any]:
        """Return a ticket: add it to the URL as `ticket`, within 30 seconds, once."""
        caller = caller_of(request)
        if not isinstance(caller, Principal):
            raise UsageError("This server has no authentication; open the URL without a ticket.")
        place = place_of_url(asked.url, request.scope.get("root_path", ""))
        return {"ticket": await tickets.issue(caller, place), "expiresIn": TICKET_LIFETIME}

    return router


# ---------------------------------------------------------------------------
# `GET /api/errors/{reference}`: the traceback of an error, for a developer at this machine.

NONE: dict[int | str, dict[str, Any]] = {
    204: {"description": "no such error, or not for the caller"}
}


def error_routes(errors: ErrorTexts) -> APIRouter:
    """Return the router of errors."""
    router = APIRouter(prefix="/api/errors", tags=["errors"])

    @router.get("/{reference}", response_class=Response, responses=NONE)
    async def trace(
        request: Request, reference: Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
    ) -> Response:
        """Return `text`, `place`, `source` and `traceback` of an error by the reference in its text.

        204 if there is none, or if it is not for this caller: who sees full error texts sees this
        (`--errors`).
        """
        found = errors.trace(request.scope, reference)
        return Response(status_code=204) if found is None else JSONResponse(found)

    return router
