"""Tracks every request and WebSocket: what it was, whose, its status, and how long it took.

`TrackRequests` is the outermost layer, so that refused requests are tracked, too. It gives each
request an id: the client's own `X-Request-ID` if that is a plain word, else a new one. The id is in the
response's header, in every problem, and in all diagnostics of the request and of the run that it started.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Final
from urllib.parse import unquote

from msgspec import structs
from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.errors import Diagnostic, Report
from adk_prism.runs.recorder import is_traced
from adk_prism.server.identity.caller import SCOPE_KEY, Anyone, Caller, Guest, Principal
from adk_prism.version import VERSION

REQUEST_HEADER: Final = b"x-request-id"
_RUN_HEADER: Final = b"x-prism-run"

_PLAIN = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:=/+@-]{0,127}")
"""Accepted as an id: UUIDs, ULIDs, hexadecimal, a load balancer's `Root=1-…`. Nothing that could end a line
or a quoted string."""


class TrackedRequest:
    """One request or socket."""

    __slots__ = (
        "_began", "_scope", "first_byte", "id", "is_cut", "received", "run", "sent", "status",
    )  # fmt: skip

    def __init__(self, scope: Scope, id: str) -> None:
        self._scope = scope
        self._began = perf_counter()
        self.id = id
        self.status = 0
        """Of the answer; of a socket, the handshake's. 0: there was none."""
        self.first_byte: float | None = None
        """Seconds until the answer began."""
        self.is_cut = False
        """It began to be answered, and the answer has no end."""
        self.sent = 0
        self.received = 0
        """Bytes of bodies and frames."""
        self.run = ""

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return perf_counter() - self._began

    @property
    def method(self) -> str:
        """The HTTP method; `WS` for a socket; `OTHER` for an unknown word."""
        method: str = self._scope.get("method", "WS")
        return method if method in _METHODS else "OTHER"

    @property
    def route(self) -> str:
        """The template of its path; empty for what was refused before it had one, or has none."""
        route: Any = self._scope.get("route")
        return str(getattr(route, "path", ""))

    @property
    def user(self) -> str:
        """Who sent it, where that is known."""
        return name_of(self._scope.get(SCOPE_KEY))

    @property
    def address(self) -> str:
        """The address that it came from."""
        client = self._scope.get("client")
        return str(client[0]) if client else ""

    def answered(self, message: Message, status: int) -> None:
        """Note that the answer began."""
        self.status = status
        self.first_byte = self.seconds
        self.run = self.run or self._run_of(message)

    def _run_of(self, message: Message) -> str:
        for name, value in message.get("headers", ()):
            if name == _RUN_HEADER:
                return bytes(value).decode("latin-1")
        # The route has checked it, unless it was refused: then there is no such run for this caller.
        parameters: dict[str, Any] = self._scope.get("path_params") or {}
        return str(parameters.get("run", "")) if self.status < 400 else ""


_METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS WS".split())

CURRENT_REQUEST: ContextVar[TrackedRequest | None] = ContextVar("adk_prism_call", default=None)
"""The request that is being answered; also set in the run that it started."""

Ended = Callable[[TrackedRequest], None]
"""Called with a request that is over."""


def name_of(caller: Caller | None) -> str:
    """Return the name of a caller in logs."""
    match caller:
        case Principal():
            return caller.user
        case Guest():
            return f"link {caller.link}"
        case Anyone() | None:
            return ""


def called_by() -> str:
    """Return who sent the request that is being answered, where that is known."""
    call = CURRENT_REQUEST.get()
    return call.user if call is not None else ""


def in_call(report: Report) -> Report:
    """Return a report that adds the id of the current request to each diagnostic."""

    def with_request(diagnostic: Diagnostic) -> None:
        call = CURRENT_REQUEST.get()
        if call is not None and not diagnostic.request:
            diagnostic = structs.replace(diagnostic, request=call.id)
        report(diagnostic)

    return with_request


class RequestTracker:
    """The open requests of one server, and the callbacks for those that are over."""

    def __init__(self, ended: Iterable[Ended] = ()) -> None:
        self.ended = [*ended]
        """Features add theirs."""
        self.open: set[TrackedRequest] = set()

    @contextmanager
    def following(self, call: TrackedRequest) -> Iterator[None]:
        """Make a request the current one inside the `with` block; call the callbacks afterwards."""
        token = CURRENT_REQUEST.set(call)
        self.open.add(call)
        try:
            yield
        finally:
            self.open.discard(call)
            CURRENT_REQUEST.reset(token)
            for notify in self.ended:
                notify(call)


class TrackRequests:
    """Gives every request its id, and tracks it."""

    def __init__(self, app: ASGIApp, calls: RequestTracker) -> None:
        self._app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope = _with_resume_path(scope)
        call = TrackedRequest(scope, _id_of(scope))
        with self._calls.following(call), span_of(call, scope):
            await self._app(scope, _receiving(call, receive), _sending(call, send))


def _id_of(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == REQUEST_HEADER]
    if len(given) == 1 and _PLAIN.fullmatch(given[0]):
        return bytes(given[0]).decode("ascii")
    return secrets.token_hex(8)


def _receiving(call: TrackedRequest, receive: Receive) -> Receive:
    async def receive_seen() -> Message:
        message = await receive()
        kind = message["type"]
        if kind == "http.request":
            call.received += len(message.get("body", b""))
        elif kind == "websocket.receive":
            call.received += len(message.get("bytes") or message.get("text") or b"")
        return message

    return receive_seen


_STARTS = {"http.response.start": 0, "websocket.http.response.start": 0, "websocket.accept": 101}
"""Messages that begin an answer, and the status of those that carry none."""


def _sending(call: TrackedRequest, send: Send) -> Send:
    header = (REQUEST_HEADER, call.id.encode("ascii"))

    async def send_seen(message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.body":
            call.sent += len(message.get("body", b""))
            call.is_cut = bool(message.get("more_body"))
        elif kind == "websocket.send":
            call.sent += len(message.get("bytes") or message.get("text") or b"")
        elif kind in _STARTS:
            call.answered(message, message.get("status") or _STARTS[kind])
            call.is_cut = kind == "http.response.start"
            message = {**message, "headers": [*(message.get("headers") or ()), header]}
        elif kind == "websocket.close" and not call.status:
            call.status = 403  # What an ASGI server answers a handshake that was not accepted.
        await send(message)

    return send_seen


# ---------------------------------------------------------------------- tracing
#
# A request as a span of OpenTelemetry, below the caller's own (`traceparent`), above the run that it
# starts.
#
# Nothing happens without a tracer provider, or if the host application already has a span for the request.
# Names are route templates; users, queries and texts are left out, because traces are stored elsewhere.


@contextmanager
def span_of(call: TrackedRequest, scope: Scope) -> Iterator[None]:
    """Have the request as the current span, where spans are collected."""
    if not is_traced() or trace.get_current_span().get_span_context().is_valid:
        yield
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    tracer = trace.get_tracer("adk_prism", VERSION)
    above = propagate.extract(headers)
    with tracer.start_as_current_span(call.method, above, SpanKind.SERVER) as span:
        try:
            yield
        finally:
            _describe(span, call)


def _describe(span: Span, call: TrackedRequest) -> None:
    if call.route:
        span.update_name(f"{call.method} {call.route}")
        span.set_attribute("http.route", call.route)
    span.set_attribute("http.request.method", call.method)
    span.set_attribute("http.response.status_code", call.status)
    span.set_attribute("adk_prism.request", call.id)
    if call.run:
        span.set_attribute("adk_prism.run", call.run)
    if call.status >= 500:
        span.set_attribute("error.type", str(call.status))
        span.set_status(Status(StatusCode.ERROR))


# ---------------------------------------------------------------------------
# The address from which a chat client resumes, where its `api` has a query.
#
# `DefaultChatTransport` (ai 5.0.0 to 7) appends `/{chat}/stream` to `api` as text. With `api` set to
# `/api/chat/my_app?dialect=7` that gives `/api/chat/my_app?dialect=7/chat-1/stream`: the end of the
# path is in the query. Here it is put back before the request is routed.

_CHAT_PATH = re.compile(r"/api/chat/[^/]+$")
_MISPLACED = re.compile(rb"(?P<query>.*)/(?P<chat>[^/&=]+)/stream")


def _with_resume_path(scope: Scope) -> Scope:
    """Return the scope of such a request with the path of the chat's stream; any other as it is."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return scope
    found = _MISPLACED.fullmatch(scope["query_string"])
    if found is None or _CHAT_PATH.search(scope["path"]) is None:
        return scope
    chat: bytes = found["chat"]
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return {
        **scope,
        "path": f"{scope['path']}/{unquote(chat.decode('ascii', 'replace'))}/stream",
        "raw_path": raw_path + b"/" + chat + b"/stream",
        "query_string": found["query"],
    }
