"""Agents over A2A, at the addresses of `adk api_server --a2a`: `/a2a/{app}` and its agent card.

An app is served if its folder has an `agent.json`, its card. Without `--a2a` nothing is served. Each caller
has tasks of their own, in the memory of this process, as ADK's are. Runs are recorded and limited like all
others.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import NoReturn

from fastapi import APIRouter, Response
from google.adk.events.event import Event
from msgspec import Raw
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from adk_prism.commands import ClientRequest, RunAgent
from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import AppFailed, NotFound, PrismError
from adk_prism.pipeline.positioned_frames import positioned_frames
from adk_prism.projection.adk import SPEC
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import AppName, check_session, check_user
from adk_prism.server.identity.caller import DEFAULT_USER, Anyone, Caller, spoken_user
from adk_prism.server.identity.parameters import CallerOf
from adk_prism.server.run_starter import Sent
from adk_prism.source.adk.a2a_server import A2aMessage, a2a_app, check_card
from adk_prism.transport.sse_encoder import JsonStreamEscaper

CARD = "agent.json"
"""The file with an app's card, as ADK names it."""

LARGEST_CARD = 256 * 1024
"""Bytes of a card."""

MOST_SERVED = 200
"""Pairs of app and caller whose tasks are kept; the one that was idle for longest is forgotten."""

_CARD_PATH = "/.well-known/agent-card.json"


def routes(context: Context) -> APIRouter:
    """Return the router of A2A."""
    router = APIRouter(prefix="/a2a/{app_name}", tags=["A2A"])
    handlers = _A2aRoutes(context)
    router.get(_CARD_PATH, response_class=Response)(handlers.card)
    router.post("", response_class=Response)(handlers.call)
    return router


class _A2aRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._served: OrderedDict[tuple[str, str], tuple[bytes, Starlette]] = OrderedDict()
        """By app and user, with the card that it was made of; the least recently used first."""

    async def card(self, caller: CallerOf, app_name: AppName) -> Response:
        """Return the agent's card."""
        return _Forwarded(await self._app(caller, app_name), _CARD_PATH)

    async def call(self, caller: CallerOf, app_name: AppName) -> Response:
        """Answer a call in A2A's JSON-RPC."""
        return _Forwarded(await self._app(caller, app_name), "/")

    async def _app(self, caller: Caller, name: str) -> Starlette:
        card = await self._card(name)
        user = "" if isinstance(caller, Anyone) else spoken_user(caller, DEFAULT_USER)
        known = self._served.pop((name, user), None)
        if known is None or known[0] != card:
            known = card, self._made(name, card, user, caller)
        self._served[name, user] = known
        if len(self._served) > MOST_SERVED:
            self._served.popitem(last=False)
        return known[1]

    async def _card(self, name: str) -> bytes:
        """Return an app's card as it is written. Raise `NotFound`."""
        if not self._context.settings.a2a:
            raise NotFound("A2A is off; start the server with --a2a.")
        self._context.apps.check(name)
        found = self._context.apps.find(name)
        folder = found.path if found is not None else None
        card = await asyncio.to_thread(_read, folder) if folder is not None else None
        if card is None:
            raise NotFound(f"The app {name!r} has no {CARD}, so it is not served over A2A.")
        return card

    def _made(self, name: str, card: bytes, user: str, caller: Caller) -> Starlette:
        calls = _Calls(self._context, name, caller)
        try:
            read = json.loads(card)
            check_card(read)
        except Exception as error:  # The SDK's versions raise different things.
            _fail(self._context.report, error, name, f"The {CARD} of the app is not an agent card.")
        return a2a_app(name, read, user, calls.run)


class _Calls:
    """Runs one caller's messages to an app."""

    def __init__(self, context: Context, app: str, caller: Caller) -> None:
        self._context = context
        self._app = app
        self._caller = caller

    async def run(self, message: A2aMessage) -> AsyncGenerator[Event, None]:
        """Start a run, and yield its events. Raise what a client may read."""
        run: RunId | None = None
        try:
            run = await self._start(message)
            async with aclosing(positioned_frames(self._context.log, run, SPEC.format())) as frames:
                async for frame in frames:
                    yield Event.model_validate_json(frame.payload.data)
        except (asyncio.CancelledError, GeneratorExit):
            if run is not None:
                await self._context.canceller.cancel(run)
            raise
        except PrismError:
            raise
        except Exception as error:  # ADK's executor sends the text of an exception to the client.
            _fail(self._context.report, error, self._app, "The run could not be started or read.")

    async def _start(self, message: A2aMessage) -> RunId:
        context = self._context
        context.lifecycle.check_open()
        session, user = check_session(message.session), check_user(message.user)
        await context.apps.open(self._app)
        origin = Origin(app=self._app, user=user, session=session)
        await context.apps.sessions(self._app).ensure(origin)
        content = message.content.model_dump_json(by_alias=True, exclude_none=True)
        asked = ClientRequest(
            command=RunAgent(content=Raw(content.encode())),
            session=session,
            user=user,
            streaming=False,
            custom_metadata=message.metadata,
        )
        return await context.starter.start(SPEC, self._app, asked, Sent(caller=self._caller))


class _Forwarded(Response):
    """A response that another ASGI application gives."""

    def __init__(self, app: Starlette, path: str) -> None:
        super().__init__()
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the other application answer."""
        kept = {key: value for key, value in scope.items() if key not in _ROUTED}
        there = kept | {"path": self._path, "raw_path": self._path.encode(), "root_path": ""}
        await self._app(there, receive, _escaped(send))


def _escaped(send: Send) -> Send:
    """Return a `send` that escapes U+2028, U+2029 and U+0085 in event streams.

    The SDK sends them as they are; clients that split with `str.splitlines`, as httpx does, take them for
    the end of a line.
    """
    escaper: JsonStreamEscaper | None = None

    async def sent(message: Message) -> None:
        nonlocal escaper
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
            if any(kind.startswith(b"text/event-stream") for kind in kinds):
                escaper = JsonStreamEscaper()
        elif message["type"] == "http.response.body" and escaper is not None:
            last = not message.get("more_body", False)
            message = {**message, "body": escaper.feed(message.get("body", b""), last=last)}
        await send(message)

    return sent


_ROUTED = ("app", "router", "route", "endpoint", "path_params", "user", "auth")
"""What our own routing put into a scope."""


def _read(folder: Path) -> bytes | None:
    try:
        with (folder / CARD).open("rb") as file:
            return file.read(LARGEST_CARD)
    except OSError:
        return None


def _fail(report: Report, error: Exception, app: str, text: str) -> NoReturn:
    correlation = new_correlation()
    report(Diagnostic(kind="a2a failed", app=app, correlation=correlation, cause=cause_of(error)))
    raise AppFailed(f"{text} Reference: {correlation}.", correlation=correlation) from None
