"""Agents over A2A, at the addresses of `adk api_server --a2a`: `/a2a/{app}` and its agent card.

An app is served if its folder has an `agent.json`, its card. Without `--a2a` nothing is served. Each caller
has tasks of their own, in the memory of this process, as ADK's are. Runs are recorded and limited like all
others.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fastapi import APIRouter, Response
from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from adk_prism import errors
from adk_prism.commands import ClientRequest, RunAgent
from adk_prism.features.a2a import A2aSettings
from adk_prism.log.entry import Origin, RunId
from adk_prism.protocols.adk import SPEC
from adk_prism.protocols.sse import ESCAPES, SEPARATOR
from adk_prism.runs.broadcast import positioned_frames
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import DEFAULT_USER, Anyone, Caller, spoken_user
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.request_bodies import AppName, check_session, check_user
from adk_prism.server.run_starter import Sent

# ---------------------------------------------------------------------------
# ADK's A2A server for one app, with runs of our own behind it.
#
# Follows google-adk 2.13 `cli/fast_api.py` (`a2a=True`): JSON-RPC and the agent card, read by ADK's
# executor
# and the A2A SDK of the extra `google-adk[a2a]`, of which ADK supports 0.3 and 1.x. Differences:
# - a run is started and recorded like all others: the executor gets a Runner that reads it from the log;
# - sessions belong to the caller, where callers are known;
# - the latest tasks are kept, not all of them;
# - a client cannot have the server call a URL of its choice (push notifications).

MOST_TASKS = 100
"""Tasks that are kept for one caller of an app: what a client may still ask for. The runs stay in the log."""

_COMPAT = "google.adk.a2a._compat"
_EXECUTOR = "google.adk.a2a.executor.a2a_agent_executor"


class A2aMessage(NamedTuple):
    """What a client sent to an agent."""

    user: str
    session: str
    """A2A's context id."""
    content: types.Content
    metadata: dict[str, Any]


RunMessage = Callable[[A2aMessage], AsyncGenerator[Event, None]]
"""Starts a run and yields its events. Raises only what a client may read; closing it stops the run."""


def require_a2a() -> None:
    """Raise `UsageError` if the A2A SDK is not installed, or not one that ADK can use."""
    try:
        import_module(_EXECUTOR)
    except ImportError as error:
        raise errors.UsageError(
            f"--a2a needs the A2A SDK ({error}). Install it: pip install 'google-adk[a2a]'."
        ) from error


def check_card(card: dict[str, Any]) -> None:
    """Raise whatever the A2A SDK raises for something that is not an agent card."""
    import_module(_COMPAT).parse_agent_card(card)


def a2a_app(name: str, card: dict[str, Any], user: str, run: RunMessage) -> Starlette:
    """Return an ASGI application: JSON-RPC at `/`, the card at `/.well-known/agent-card.json`.

    It is for one user; empty: for anybody, and each conversation has a user of its own, as with ADK.
    """
    compat, executor = import_module(_COMPAT), import_module(_EXECUTOR)
    config = import_module("google.adk.a2a.executor.config").A2aAgentExecutorConfig
    app = Starlette()
    compat.attach_a2a_routes_to_app(
        app,
        agent_card=compat.parse_agent_card(card),
        agent_executor=executor.A2aAgentExecutor(
            runner=_RecordedRunner(name, run), config=config(request_converter=_converter(user))
        ),
        task_store=_task_store(),
    )
    return app


def _converter(user: str) -> Callable[..., Any]:
    convert = import_module(
        "google.adk.a2a.converters.request_converter"
    ).convert_a2a_request_to_agent_run_request

    def converted(context: Any, parts: Any) -> Any:
        request = convert(context, parts)
        if user:
            request.user_id = user
        return request

    return converted


class _RecordedRunner(Runner):
    """A Runner whose runs happen elsewhere."""

    def __init__(self, name: str, run: RunMessage) -> None:
        # The executor reads names from the agent, and nothing else: the app is loaded when it runs.
        super().__init__(app_name=name, agent=BaseAgent(name=name), session_service=_SessionNames())
        self._run = run

    async def run_async(self, **asked: Any) -> AsyncGenerator[Event, None]:
        """Yield the events of a recorded run."""
        config, content = asked.get("run_config"), asked.get("new_message")
        message = A2aMessage(
            user=asked["user_id"],
            session=asked["session_id"],
            content=content or types.Content(role="user", parts=[]),
            metadata=dict(config.custom_metadata or {}) if config is not None else {},
        )
        events = self._run(message)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()


class _SessionNames(InMemorySessionService):
    """Says that every session is there: whoever starts the run creates it, after checking its name."""

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, **_: Any
    ) -> Session:
        """Return a session of that name, without events."""
        return Session(app_name=app_name, user_id=user_id, id=session_id)


def _task_store() -> Any:
    base: Any = import_module("a2a.server.tasks").InMemoryTaskStore

    class LatestTasks(base):  # type: ignore[misc] # a class of an optional package
        """Keeps the latest tasks."""

        def __init__(self) -> None:
            super().__init__()
            self._latest: OrderedDict[str, None] = OrderedDict()

        async def save(self, task: Any, *context: Any) -> None:
            """Keep a task; forget the one that was not touched for longest, if there are too many."""
            await super().save(task, *context)
            self._latest[task.id] = None
            self._latest.move_to_end(task.id)
            while len(self._latest) > MOST_TASKS:
                oldest, _ = self._latest.popitem(last=False)
                await self.delete(oldest, *context)

    return LatestTasks()


# ---------------------------------------------------------------------------

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
        if not self._context.settings.of(A2aSettings).a2a:
            raise errors.NotFound("A2A is off; start the server with --a2a.")
        self._context.apps.check(name)
        found = self._context.apps.find(name)
        folder = found.path if found is not None else None
        card = await asyncio.to_thread(_read, folder) if folder is not None else None
        if card is None:
            raise errors.NotFound(f"The app {name!r} has no {CARD}, so it is not served over A2A.")
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
                await self._context.runs.canceller.cancel(run)
            raise
        except errors.PrismError:
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


def _fail(report: errors.Report, error: Exception, app: str, text: str) -> NoReturn:
    correlation = errors.new_correlation()
    report(
        errors.Diagnostic(
            kind="a2a failed", app=app, correlation=correlation, cause=errors.cause_of(error)
        )
    )
    raise errors.AppFailed(f"{text} Reference: {correlation}.", correlation=correlation) from None


_BEGINNINGS = (b"\xe2", b"\xe2\x80", b"\xc2")
"""What a separator may begin with, at the end of a piece."""


class JsonStreamEscaper:
    """Escapes the separators in a stream of JSON events that something else has encoded, piece by piece."""

    def __init__(self) -> None:
        self._held = b""
        """The end of the last piece, where it may be the beginning of a separator."""

    def feed(self, data: bytes, *, last: bool) -> bytes:
        """Return a piece with its separators escaped; but for the last, its end may come with the next."""
        data = self._held + data
        self._held = b""
        if not last and data.endswith(_BEGINNINGS):
            at = max(data.rfind(b"\xe2", -2), data.rfind(b"\xc2", -1))
            data, self._held = data[:at], data[at:]
        return SEPARATOR.sub(lambda match: ESCAPES[match[0]], data)
