"""A connection of the AI SDK's `WebSocketChatTransport`: many requests, of any number of chats.

Each request is a task of its own that shows a run. The run belongs to the server: closing the socket stops
nothing. An error is sent to the request that it concerns. At shutdown, and while the run log cannot say how
a run goes on, the socket is closed with 1012, which the client takes for a lost connection, and reconnects.

Follows ai 7.0.169. Its client gives up all requests of a socket at one frame that it does not know, so only
these are sent: `start`, `chunk` with `sequence` from 0, `end`, `error`, `no-active`. For the same reason it
is separate from the live route.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

import msgspec
from fastapi import APIRouter, WebSocket
from msgspec import Struct, field, json

from adk_prism.adk.errors import report_error
from adk_prism.errors import LogError, PrismError, Unprocessable, UsageError
from adk_prism.log.entry import Origin, RunId
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.protocols.contract import Format
from adk_prism.runs.broadcast import PositionedFrame, positioned_frames
from adk_prism.runs.chats import Shown, running, scope_of, without_held_runs
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server import run_streams
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.request_bodies import AppName, check_frame, check_session, check_user
from adk_prism.server.run_starter import Sent
from adk_prism.server.run_streams import SocketConnection

MAX_ID_LENGTH = 128
"""Characters of a request's id; the SDK's have sixteen."""


class Send(run_streams.SocketFrame, tag="send"):
    """Send a message, answer a question, or regenerate."""

    request_id: str
    id: str
    messages: list[Any] = field(default_factory=list)
    trigger: str = "submit-message"
    message_id: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None

    def chat_body(self) -> dict[str, Any]:
        """Return the body of the same request as a POST."""
        about = {"id": self.id, "messages": self.messages, "trigger": self.trigger}
        return {**(self.body or {}), **about, "messageId": self.message_id}


class Resume(run_streams.SocketFrame, tag="resume"):
    """Stream the message that is being written, from its start."""

    request_id: str
    id: str
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None


class Abort(run_streams.SocketFrame, tag="abort"):
    """Stop a request: for a `send` the run, for a `resume` only the stream."""

    request_id: str


ChatFrame = Send | Resume | Abort

_decode = msgspec.json.Decoder(ChatFrame).decode


class _Named(Struct, rename="camel"):
    request_id: str = ""


_read_name = msgspec.json.Decoder(_Named).decode


def read_frame(text: str | bytes) -> ChatFrame:
    """Read a frame. Raise `UsageError` for one that the transport does not send."""
    frame: ChatFrame = run_streams.decode(_decode, text, "send, resume, abort")
    check_frame(text)
    if not 0 < len(frame.request_id) <= MAX_ID_LENGTH:
        raise Unprocessable(f"`requestId` must have 1 to {MAX_ID_LENGTH} characters.")
    return frame


def request_of(text: str | bytes) -> str:
    """Return the request id of an invalid frame; empty if it has none."""
    try:
        return _read_name(text).request_id[:MAX_ID_LENGTH]
    except run_streams.INVALID_JSON:
        return ""


def started(request: str) -> str:
    """Return the frame that starts an answer."""
    return _frame("start", request)


def ended(request: str) -> str:
    """Return the frame that ends an answer; without it the client waits for ever."""
    return _frame("end", request)


def nothing_runs(request: str) -> str:
    """Return the answer to a `resume` when no message is being written."""
    return _frame("no-active", request)


def failed(request: str, text: str) -> str:
    """Return the error of one request."""
    return run_streams.encode({"type": "error", "requestId": request, "errorText": text})


def chunk(request: str, sequence: int, data: bytes) -> str:
    """Return a chunk with its sequence number."""
    name = run_streams.encode(request)
    return f'{{"type":"chunk","requestId":{name},"sequence":{sequence},"chunk":{data.decode()}}}'


def _frame(kind: str, request: str) -> str:
    return run_streams.encode({"type": kind, "requestId": request})


# ---------------------------------------------------------------------------

MAX_REQUESTS = 32
"""Open requests of one socket: more chats than a person can look at."""

LOG_FAILED = run_streams.Closing(1012, "the run log is unavailable")
INVALID_FRAME = run_streams.Closing(1007, "not a frame of the chat transport")

DONE = b"[DONE]"


class _OpenRequest(Struct, eq=False):
    """A request that is being answered."""

    task: asyncio.Task[None] | None = None
    is_streaming: bool = False
    """The run has started: starting it must not be cut short."""
    is_aborted: bool = False


class ChatConnection(SocketConnection):
    """One client's connection."""

    def __init__(self, socket: WebSocket, context: Context, app: str, format: Format) -> None:
        super().__init__(socket)
        self._context = context
        self._app = app
        self._format = format
        self._requests: dict[str, _OpenRequest] = {}
        self._closes_when_idle = False
        self._closing: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ the connection

    def close(self) -> None:
        """Close the socket because the server shuts down; the client reconnects."""
        self._out.close(run_streams.SHUTDOWN)

    def close_when_idle(self) -> None:
        """Close it when the last request has been answered and the answer is sent."""
        self._closes_when_idle = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._closes_when_idle and not self._requests and self._closing is None:
            closing = self._out.close_when_sent(run_streams.SHUTDOWN)
            self._closing = asyncio.create_task(closing, name="chat close")

    async def serve(self) -> None:
        """Serve an accepted socket until either side closes it; the runs continue."""
        forget = self._context.streams.sockets.hold(self)
        try:
            await super().serve()
        finally:
            forget()

    def _tasks(self) -> Iterable[asyncio.Task[None]]:
        tasks = [self._closing, *(request.task for request in self._requests.values())]
        return [task for task in tasks if task is not None]

    async def _receive(self, message: Any) -> run_streams.Closing | None:
        if self._is_too_fast():
            return run_streams.TOO_MANY_MESSAGES
        text = message.get("text") or message.get("bytes") or b""
        try:
            self._take(read_frame(text))
        except UsageError as error:
            request = request_of(text)
            if not request:
                # The client would give up all its requests for an error that names none.
                return INVALID_FRAME
            await self._out.put(failed(request, error.detail))
        return None

    def _take(self, frame: ChatFrame) -> None:
        if isinstance(frame, Abort):
            self._abort(frame.request_id)
            return
        if frame.request_id in self._requests:
            raise Unprocessable(f"Request {frame.request_id!r} is open already; use another id.")
        if len(self._requests) >= MAX_REQUESTS:
            raise Unprocessable(
                f"This socket has {MAX_REQUESTS} open requests; wait until one is answered."
            )
        request = self._requests[frame.request_id] = _OpenRequest()
        request.task = asyncio.create_task(self._answer(frame, request))
        request.task.add_done_callback(lambda _: self._forget(frame.request_id))

    def _forget(self, name: str) -> None:
        self._requests.pop(name, None)
        self._close_if_idle()

    def _abort(self, name: str) -> None:
        """Abort a request. If its run is still starting, the run is cancelled once it has started."""
        request = self._requests.get(name)
        if request is None or request.task is None:
            return  # it has been answered
        request.is_aborted = True
        if request.is_streaming:
            request.task.cancel()

    # ------------------------------------------------------------------ answering

    async def _answer(self, frame: Send | Resume, request: _OpenRequest) -> None:
        name = frame.request_id
        try:
            if isinstance(frame, Send):
                await self._send(frame, request)
            else:
                await self._resume(frame, request)
        except PrismError as error:
            if request.is_streaming and isinstance(error, LogError):
                # How the run ends is not known: the client comes back, and learns it from the log.
                report_error(self._context.report, "stream cut", error)
                self._out.close(LOG_FAILED)
            else:
                await self._fail(name, error.detail)
        except Exception as error:  # the edge: the client gets a reference, the operator the cause
            correlation = report_error(self._context.report, "request failed", error)
            text = f"The server failed to answer. Reference: {correlation}."
            await self._fail(name, text)

    async def _fail(self, name: str, text: str) -> None:
        full = self._context.errors.text(self._socket.scope, text)
        await self._out.put(failed(name, full))

    async def _send(self, frame: Send, request: _OpenRequest) -> None:
        run = await self._start(frame)
        try:
            if not request.is_aborted:
                request.is_streaming = True
                await self._stream(frame.request_id, self._frames_of_run(run))
        finally:
            if request.is_aborted:
                summary = await self._context.runs.cancel(run)
                action = AuditedAction(action="run cancelled", origin=summary.origin, run=run)
                await self._context.audit.note(action)

    async def _resume(self, frame: Resume, request: _OpenRequest) -> None:
        request.is_streaming = True
        shown = await self._running(frame)
        if shown is None:
            await self._out.put(nothing_runs(frame.request_id))
        else:
            await self._stream(frame.request_id, self._frames_of_turn(shown))

    async def _start(self, frame: Send) -> RunId:
        body = frame.chat_body()
        sent = Sent(
            caller=caller_of(self._socket),
            key=frame.headers.get("idempotency-key", ""),
            body=json.encode(body),
            base=self._format.options.files.base,
        )
        return await self._context.starter.start(SPEC, self._app, read_request(body), sent)

    def _origin(self, user: str, chat: str) -> Origin:
        acting = spoken_user(caller_of(self._socket), check_user(user))
        return Origin(app=self._app, user=acting, session=check_session(chat))

    async def _running(self, frame: Resume) -> Shown | None:
        user = (frame.body or {}).get("userId", "user")
        if not isinstance(user, str):
            raise Unprocessable(f"`userId` must be a string, got {type(user).__name__}.")
        turns = await self._context.chats.turns(self._origin(user, frame.id))
        return running(turns)

    def _frames_of_run(self, run: RunId) -> AsyncGenerator[PositionedFrame, None]:
        return positioned_frames(self._context.log, run, self._format)

    async def _frames_of_turn(self, shown: Shown) -> AsyncGenerator[PositionedFrame, None]:
        shown = without_held_runs(shown)
        for index, run in enumerate(shown.turn.runs):
            part = self._format.of_part(scope_of(shown, index))
            placed = positioned_frames(self._context.log, run.summary.run, part)
            async with aclosing(placed):
                async for frame in placed:
                    yield frame

    async def _stream(self, name: str, placed: AsyncGenerator[PositionedFrame, None]) -> None:
        await self._out.put(started(name))
        sequence = 0
        async with aclosing(placed):
            async for _, payload in placed:
                if payload.data != DONE:
                    await self._out.put(chunk(name, sequence, payload.data))
                    sequence += 1
        await self._out.put(ended(name))


# ---------------------------------------------------------------------------
# `WS /api/chat/{app}/socket`: chats over one socket, for the AI SDK's `WebSocketChatTransport`.
#
# It is separate from the live route, because its client gives up at any frame that is not the
# transport's.

DIALECT = "7"
"""The default: the transport came with ai 7."""


def routes(context: Context) -> APIRouter:
    """Return the router of chat sockets."""
    router = APIRouter(prefix="/api/chat")

    @router.websocket("/{app_name}/socket")
    async def socket(socket: WebSocket, app_name: AppName, dialect: str = DIALECT) -> None:
        context.lifecycle.check_open()
        await context.apps.open(app_name)
        format = context.streams.format(socket, SPEC, dialect)
        await socket.accept(_subprotocol(socket))
        await ChatConnection(socket, context, app_name, format).serve()

    return router


def _subprotocol(socket: WebSocket) -> str | None:
    """Return the first subprotocol that is offered: a client that offers one closes without an answer."""
    offered: list[str] = socket.scope.get("subprotocols") or []
    return offered[0] if offered else None
