"""`POST /mcp`: the tools of `adk-prism mcp` on the server itself, over MCP's streamable HTTP.

A tool asks this server's own routes, in this process, as whoever called it: with the caller's credentials and
address, through the whole of the server. So identity, limits, audit, redaction and the guard of hosts and
origins hold for a tool as for any request, and a flood of calls meets the same limits. Nothing is kept
between two requests: any replica answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Annotated, Any, cast

import httpx
from fastapi import APIRouter, Query, Request, Response
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism.errors import NotFound, NotSupported, UsageError
from adk_prism.features.mcp.command import make_server
from adk_prism.features.mcp.tools import RunTools
from adk_prism.features.mcp.transcript import CHARACTERS, Steps, transcript
from adk_prism.runs.off_loop import feed_run
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf, Run
from adk_prism.server.proxies import PEER_KEY
from adk_prism.server.request_bodies import check_json_type
from adk_prism.server.routes import shown_run

PATH = "/mcp"

_OF_THE_MESSAGE = frozenset(
    b"content-length content-type transfer-encoding connection accept accept-encoding expect upgrade"
    b" idempotency-key".split()
)
"""Headers that are about the call of the tool; all others say who calls, and from where."""

_OF_THE_CONNECTION = ("server", "http_version", PEER_KEY)
"""What else tells whether a caller is on this machine, and so may see tracebacks."""

_CALLED: ContextVar[Scope] = ContextVar("adk_prism_mcp_request")
"""The request that calls a tool. MCP's server runs it in a task of its own, which takes this along."""


class _OwnServer(httpx.AsyncBaseTransport):
    """Sends requests to the application that the current request came to, as its caller."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        scope = _CALLED.get()
        given = [(k, v) for k, v in scope["headers"] if k not in _OF_THE_MESSAGE and k != b"host"]
        own = [(k, v) for k, v in request.headers.raw if k.lower() not in (b"host", b"user-agent")]
        host = [(k, v) for k, v in scope["headers"] if k == b"host"]
        sent = httpx.Request(
            request.method, request.url, headers=[*host, *own, *given], stream=request.stream
        )
        app = cast("ASGIApp", scope["app"])
        connection = {key: scope[key] for key in _OF_THE_CONNECTION if key in scope}

        async def connected(of_tool: Scope, receive: Receive, send: Send) -> None:
            await app({**of_tool, **connection}, receive, send)

        client = scope.get("client") or ("", 0)
        root = scope.get("root_path", "")
        transport = httpx.ASGITransport(connected, client=client, root_path=root)
        return await transport.handle_async_request(sent)


class McpServer:
    """The MCP server of one application; it starts with the first request, since few servers have one."""

    def __init__(self, public_url: str, *, allow_run: bool) -> None:
        self._public_url = public_url.rstrip("/")
        self._allow_run = allow_run
        self._starting: asyncio.Future[Starlette]
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Let it be used; end it when the server stops."""
        try:
            yield
        finally:
            self._stop.set()
            if self._task is not None:
                await self._task

    async def app(self) -> Starlette:
        """Return the application that speaks MCP. Raise `NotSupported` without the package `mcp`.

        A start that failed is tried again with the next request.
        """
        if self._task is None or self._task.done():
            self._starting = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._serve(self._starting))
        return await asyncio.shield(self._starting)

    async def _serve(self, starting: asyncio.Future[Starlette]) -> None:
        """Run it in one task, as its task group demands."""
        http = httpx.AsyncClient(transport=_OwnServer(), base_url="http://adk-prism", timeout=None)
        try:
            async with http:
                app = self._make(http)
                async with app.router.lifespan_context(app):
                    starting.set_result(app)
                    await self._stop.wait()
        except Exception as error:  # another package's code: whoever waits has to hear of it
            if starting.done():
                raise
            missing = NotSupported(error.detail) if isinstance(error, UsageError) else None
            starting.set_exception(missing or error)

    def _make(self, http: httpx.AsyncClient) -> Starlette:
        server = make_server(RunTools(http, self._base), allow_run=self._allow_run)
        from mcp.server.transport_security import TransportSecuritySettings

        # Hosts and origins were checked by the server's own guard, which knows its settings.
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app: Starlette = server.streamable_http_app(
            stateless_http=True, json_response=True, transport_security=checked
        )
        return app

    def _base(self) -> str:
        """Return the address of the server as the caller knows it, for links."""
        scope = _CALLED.get()
        return self._public_url or str(Request(scope).base_url).rstrip("/")


class _Forwarded(Response):
    """The answer of MCP's own application to a request."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it answer."""
        token = _CALLED.set(scope)
        own: Mapping[str, Any] = {"path": PATH, "raw_path": PATH.encode(), "root_path": ""}
        try:
            await self._app({**scope, **own}, receive, send)
        finally:
            _CALLED.reset(token)


def router(context: Context, *, allow_run: bool) -> APIRouter:
    """Return the router of MCP."""
    router = APIRouter(tags=["mcp"])
    server = McpServer(context.settings.public_url, allow_run=allow_run)
    context.lifecycle.hold(server.opened)

    @router.post(PATH, response_class=Response)
    async def mcp(request: Request, caller: CallerOf) -> Response:
        """Answer a message of MCP (streamable HTTP, without sessions)."""
        check_json_type(request)
        if isinstance(caller, Guest):
            raise NotFound("A share link has no tools.")
        return _Forwarded(await server.app())

    return router


# ---------------------------------------------------------------------------
# `GET /api/runs/{run}/transcript`: a run as a short text, with the cursor of each step.

MOST_CHARACTERS = 200_000


def transcripts(context: Context) -> APIRouter:
    """Return the router of transcripts."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/transcript")
    async def read(
        run: Run,
        after: Annotated[int, Query(ge=0, le=LARGEST_NUMBER)] = 0,
        characters: Annotated[int, Query(ge=500, le=MOST_CHARACTERS)] = CHARACTERS,
    ) -> dict[str, Any]:
        """Return a run as text: a row for each step after a cursor, in at most so many characters."""
        summary = await context.log.summary(run)
        steps = Steps()
        await feed_run(context.log, run, steps.feed)
        found = transcript(steps.rows, after, characters)
        about = {"rows": found.rows, "leftOut": found.left_out, "text": found.text}
        return {**shown_run(summary), **about}

    return router
