"""The routes of the kernel that belong to no protocol: those of runs, and what operators and pages ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.capabilities import probe_all, switched_off
from adk_prism.errors import BadPosition, LogError, PrismError, Unprocessable, UsageError
from adk_prism.extension import Served
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import BEGINNING, Position, RunId, parse_position
from adk_prism.protocols.adk.sessions import Health, Readiness
from adk_prism.protocols.contract import ProtocolSpec
from adk_prism.protocols.registry import protocol, protocols
from adk_prism.runs.runs import CancelResult
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Principal, caller_of
from adk_prism.server.identity.identity import Administrator, CallerOf, Cursor, Run
from adk_prism.server.identity.methods import LONGEST_URL, TICKET_LIFETIME, place_of_url
from adk_prism.server.request_bodies import AppName, StrictRoute
from adk_prism.server.run_starter import Key, RunStarter, read_sent
from adk_prism.server.run_streams import RunStreams
from adk_prism.version import packages

# ---------------------------------------------------------------------------
# Every run, in every protocol: look at it, stream it from any position, stop it, fetch its files.

Describe = Callable[[RunSummary], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class RunsRoutes:
    """The routes of runs."""

    context: Context
    describe: Sequence[Describe]
    """What features add to the description of a run."""

    def router(self) -> APIRouter:
        """Return the router of self."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}")(self.get_run)
        router.get("/{run}/stream", response_class=Response)(self.stream)
        router.post("/{run}/cancel")(self.cancel)
        router.get("/{run}/files/{cursor}/{part}", response_class=Response)(self.file)
        return router

    async def get_run(self, run: Run) -> dict[str, Any]:
        """Return one run, with the tokens by kind, the time and the cost of its model calls."""
        summary = await self.context.log.summary(run)
        shown = shown_run(summary)
        for describe in self.describe:
            shown |= await describe(summary)
        return shown

    async def stream(
        self,
        request: Request,
        run: Run,
        as_: Annotated[str, Query(alias="as")] = "adk",
        dialect: str = "",
        raw: bool = False,
        after: str = "",
        last_event_id: Annotated[str, Header(alias="Last-Event-ID")] = "",
    ) -> Response:
        """Stream a run, live or over, after a position or a cursor; 204 if it is over and all was seen.

        `raw` adds ADK's own events (ag-ui).
        """
        format = self.context.streams.format(request, protocol(as_), dialect, raw=raw)
        return await self.context.streams.start(run, format, _after(run, after, last_event_id))

    async def cancel(self, run: Run) -> dict[str, Any]:
        """Stop a run and return it; one that is over stays as it is.

        The answer does not wait for tools that ignore it: `toolRunning` tells whether one is still at work
        (null: not known here), `runningTools` which; `outcome` is null while the run is not over.
        """
        summary, stopped = await cancel_run(self.context, run)
        return {**shown_run(summary), **stopped.shown()}

    async def file(
        self,
        run: Run,
        cursor: Cursor,
        part: str,
        range_: Annotated[str, Header(alias="Range")] = "",
    ) -> Response:
        """Return a file that an event of the run holds or refers to."""
        return await self.context.files.answer(run, cursor, part, range_)


async def cancel_run(context: Context, run: RunId) -> tuple[RunSummary, CancelResult]:
    """Stop a run for a person; return it, and what became of that."""
    summary, stopped = await context.runs.canceller.cancel(run)
    if stopped.found:
        action = AuditedAction(action="run cancelled", origin=summary.origin, run=run)
        await context.audit.note(action)
    return summary, stopped


def shown_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as it is answered."""
    return {
        "run": summary.run,
        "app": summary.origin.app,
        "user": summary.origin.user,
        "session": summary.origin.session,
        "invocation": summary.invocation,
        "message": summary.message,
        "started": summary.started,
        "ended": summary.ended,
        "outcome": summary.outcome,
        "cursor": summary.cursor,
        "bytes": summary.bytes,
    }


def _after(run: RunId, after: str, last_event_id: str) -> Position:
    if after and last_event_id and after != last_event_id:
        raise BadPosition("`after` and Last-Event-ID are different positions; send one of them.")
    given = after or last_event_id
    return parse_position(given, run) if given else BEGINNING


# ---------------------------------------------------------------------------
# What operators and pages ask of the server itself.

NO_ERROR: dict[int | str, dict[str, Any]] = {
    204: {"description": "no such error, or not for the caller"}
}


class TicketRequest(BaseModel):
    """What a ticket is wanted for."""

    url: str = Field(
        max_length=LONGEST_URL,
        description="Path and query that will be opened, such as /api/runs/run-1/stream?as=studio.",
    )


class OperatingRoutes:
    """The routes of the server itself."""

    def __init__(self, context: Context, features: Mapping[str, Served]) -> None:
        """`features`: those that this server runs, by name."""
        self._context = context
        self._features = sorted(features)
        self._describe = [each.describe_log for each in features.values() if each.describe_log]
        self._probe = _Probe(lambda: _ask(context.log, context.apps))

    def router(self) -> APIRouter:
        """Return the router of operation, errors and identity."""
        router = APIRouter(route_class=StrictRoute)
        ready: dict[int | str, dict[str, Any]] = {503: {"model": Health}}
        router.get("/ready", responses=ready, response_model_exclude_none=True, tags=["operating"])(
            self.ready
        )
        router.get(
            "/api/errors/{reference}", response_class=Response, responses=NO_ERROR, tags=["errors"]
        )(self.trace)
        router.post("/api/tickets", tags=["identity"])(self.issue)
        router.get("/api/me", tags=["identity"])(self.me)
        router.get("/api/setup", tags=["operating"], dependencies=[Administrator])(self.setup)
        return router

    async def ready(self, response: Response) -> Readiness:
        """Tell whether the server takes new work, and its stores are there; 503 if not."""
        if self._context.draining:
            response.status_code = 503
            return Readiness(status="draining")
        await self._probe()
        return Readiness(status="ok", detail=switched_off() or None)

    async def trace(
        self, request: Request, reference: Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
    ) -> Response:
        """Return `text`, `place`, `source` and `traceback` of an error by the reference in its text.

        204 if there is none, or if it is not for this caller: who sees full error texts sees this
        (`--errors`).
        """
        found = self._context.errors.trace(request.scope, reference)
        return Response(status_code=204) if found is None else JSONResponse(found)

    async def issue(self, request: Request, asked: TicketRequest) -> dict[str, Any]:
        """Return a ticket: add it to the URL as `ticket`, within 30 seconds, once."""
        caller = caller_of(request)
        if not isinstance(caller, Principal):
            raise UsageError("This server has no authentication; open the URL without a ticket.")
        place = place_of_url(asked.url, request.scope.get("root_path", ""))
        ticket = await self._context.identity.tickets.issue(caller, place)
        return {"ticket": ticket, "expiresIn": TICKET_LIFETIME}

    async def me(self, caller: CallerOf) -> dict[str, Any]:
        """Return the caller's name and whether it is an administrator; null where nobody is asked.

        `features`: those that this server runs, for a page that offers them.
        """
        known = caller if isinstance(caller, Principal) else None
        return {
            "user": known.user if known else None,
            "admin": known is not None and known.admin,
            "features": self._features,
        }

    async def setup(self) -> dict[str, Any]:
        """Return versions, capabilities with what is off and why, storage with its size, and reloading.

        `places` names where sessions, artifacts and memory are; empty: the default. Addresses are shown
        without user names, passwords and parameters.
        """
        settings, runs = self._context.settings, await self._context.log.list()
        return {
            "packages": [package._asdict() for package in packages()],
            "capabilities": await asyncio.to_thread(_capabilities),
            "log": {
                "place": shown_place(settings.log),
                "runs": len(runs),
                "bytes": sum(run.bytes for run in runs),
                **{
                    name: value for describe in self._describe for name, value in describe().items()
                },
            },
            "places": {
                "sessions": shown_place(settings.sessions),
                "artifacts": shown_place(settings.artifacts),
                "memory": shown_place(settings.memory),
            },
            "dataDir": settings.data_dir,
            "localStorage": settings.local_storage,
            "reloads": settings.reloads(listens=self._context.observability.listens),
            "features": self._features,
        }


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
# `GET /ready`: whether a load balancer should send new work here.
#
# The run log is written to and the sessions are read, within a bound that is shorter than the period of any
# usual probe. Whoever asks meanwhile, or shortly after, gets the same answer: anybody may ask, and each
# question writes.

BOUND = 1.5
"""Seconds for the stores to answer; one that takes longer is away. Probes come every two seconds or less
often."""

KEPT = 1.0
"""Seconds for which an answer is given to whoever asks."""


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
# The protocols of this server, and runs in any of them, also in one without routes of its own.


def protocol_routes(starter: RunStarter, streams: RunStreams) -> APIRouter:
    """Return the router of protocols."""
    router = APIRouter(prefix="/api/protocols", route_class=StrictRoute, tags=["protocols"])

    @router.get("")
    async def list_protocols() -> list[dict[str, Any]]:
        """Return the protocols in which runs can be streamed."""
        return [_shown(spec) for spec in protocols().specs.values()]

    @router.post("/{name}/{app_name}", response_class=Response)
    async def start(
        request: Request,
        name: str,
        app_name: AppName,
        body: dict[str, Any],
        dialect: Annotated[str, Query(description="Version of the protocol")] = "",
        key: Key = "",
    ) -> Response:
        """Start the run that a request body asks for in a protocol, and stream it."""
        spec = protocol(name)
        if spec.read_request is None:
            raise Unprocessable(f"Protocol {name!r} starts no runs; it can only stream them.")
        format = streams.format(request, spec, dialect)
        sent = await read_sent(request, key, format.options.files.base)
        run = await starter.start(spec, app_name, spec.read_request(body), sent)
        return await streams.start(run, format)

    return router


def _shown(spec: ProtocolSpec[Any]) -> dict[str, Any]:
    return {
        "name": spec.name,
        "summary": spec.summary,
        "dialects": list(spec.dialects),
        "startsRuns": spec.read_request is not None,
        "resumesBy": spec.resumes_by,
    }
