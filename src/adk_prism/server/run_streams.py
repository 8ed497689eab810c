"""Runs as streams for HTTP clients: in which format, from which position on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, dataclass_transform
from urllib.parse import urlsplit

import msgspec
from fastapi import Response
from msgspec import Struct
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.adk.errors import report_error
from adk_prism.errors import Diagnostic, LogError, Report, Unprocessable, UsageError
from adk_prism.facts.run_reader import MakeAnnotator
from adk_prism.log.entry import BEGINNING, Position, RunId
from adk_prism.log.private_files import Notifier
from adk_prism.protocols.contract import FileLinks, Format, Payload, ProtocolSpec
from adk_prism.runs.broadcast import Broadcaster
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.proxies import TrustedProxies, page_scheme, written
from adk_prism.server.settings import Settings
from adk_prism.server.throttling import TokenBucket

# ---------------------------------------------------------------------------
# A view as an HTTP response: server-sent events that end well, break off visibly, or are cut.
#
# - The run's end: the body ends, as the protocol says.
# - An entry cannot be shown: the protocol's own error, then the end.
# - The log fails, the server goes down, or a reader stands still: the connection is closed without the
#   end of
#   the body. A client sees a broken connection, not a short answer, and comes back. It is not told that
#   the run
#   failed: how a run ended is what the log says, once it can say it.

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}


class Viewable(Protocol):
    """What can be streamed."""

    @property
    def left(self) -> bool: ...
    def leave(self) -> None: ...
    def chunks(self) -> AsyncGenerator[bytes, None]: ...


class EventStream(Response):
    """Streams a view."""

    def __init__(
        self,
        view: Viewable,
        spec: ProtocolSpec[Any],
        headers: Mapping[str, str],
        *,
        report: Report,
        errors: ErrorTexts,
        patience: float,
        on_left: Callable[[], None] | None = None,
    ) -> None:
        """A reader that takes nothing for `patience` seconds is cut.

        `on_left` is called if the client closes the connection before the end.
        """
        super().__init__(headers={**HEADERS, **spec.headers, **headers})
        del self.headers["content-length"]
        self._view = view
        self._spec = spec
        self._report = report
        self._errors = errors
        self._patience = patience
        self._on_left = on_left
        self._sending: float | None = None
        """Since when a write has not gone out."""
        self._guard: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the view; return without an end of the body where it was cut."""
        streaming = asyncio.create_task(self._stream(scope, send))
        watching = asyncio.create_task(self._watch(receive))
        self._watch_out(streaming)
        try:
            await asyncio.wait({streaming, watching}, return_when=asyncio.FIRST_COMPLETED)
            if self._on_left is not None and not streaming.done():
                self._on_left()
        finally:
            if self._guard is not None:
                self._guard.cancel()
            self._view.leave()
            for task in (streaming, watching):
                task.cancel()
            await asyncio.wait({streaming, watching})
        errors = [task.exception() for task in (streaming, watching) if not task.cancelled()]
        for error in filter(None, errors):
            raise error

    def _watch_out(self, streaming: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        self._guard = loop.call_later(self._patience, self._check, streaming)

    def _check(self, streaming: asyncio.Task[None]) -> None:
        """Cut a reader whose last write has not gone out for too long."""
        now = asyncio.get_running_loop().time()
        if self._sending is not None and now - self._sending >= self._patience:
            self._report(Diagnostic(kind="viewer cut", detail="it took nothing for too long"))
            streaming.cancel()
        else:
            self._watch_out(streaming)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _stream(self, scope: Scope, send: Send) -> None:
        now = asyncio.get_running_loop().time
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async with aclosing(self._view.chunks()) as chunks:
                async for data in chunks:
                    self._sending = now()
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                    self._sending = None
        except OSError:
            return  # the connection is gone
        except LogError as error:
            report_error(self._report, "stream cut", error)
            return
        except Exception as error:  # the edge: the client gets an error, the operator the cause
            self._sending = now()
            body = self._broken(error, scope)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        if not self._view.left:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _broken(self, error: Exception, scope: Scope) -> bytes:
        correlation = report_error(self._report, "stream broken", error)
        text = self._errors.text(scope, f"The stream broke off. Reference: {correlation}.")
        return b"".join(map(_unplaced, self._spec.failure(text)))


def _unplaced(payload: Payload) -> bytes:
    """Return a frame of no entry: without an id, so that it moves nobody's position."""
    name = b"event: %s\n" % payload.event.encode() if payload.event else b""
    return b"%sdata: %s\n\n" % (name, payload.data)


# ---------------------------------------------------------------------------
# The address under which a client reaches this server, for links in what it is sent.
#
# The configured one, else what a trusted proxy says, else what the client called (its Host was checked).


def base_url(connection: HTTPConnection, settings: Settings) -> str:
    """Return an absolute http(s) address without a slash at its end, also for a socket.

    A prefix under which the application is mounted, or that a proxy takes off, is in it, unless the
    configured address has a path of its own. Starlette's own `base_url` leaves the prefix of a mount out.
    """
    prefix: str = connection.scope.get("root_path", "").rstrip("/")
    if settings.public_url:
        public = settings.public_url.rstrip("/")
        return public if urlsplit(public).path else public + prefix
    forwarded = TrustedProxies(settings.trusted_proxy).origin(connection.scope)
    if forwarded is not None:
        return written(forwarded) + prefix
    return f"{page_scheme(connection.scope)}://{connection.url.netloc}{prefix}"


_encode = msgspec.json.Encoder().encode


def json_list(values: Iterable[Any]) -> bytes:
    """Return values as a JSON list. One at a time: while a value is written, no other thread runs."""
    return b"[%b]" % b",".join(map(_encode, values))


# ---------------------------------------------------------------------------

RUN_HEADER = "x-prism-run"
"""Names the run that a response is about."""


@dataclass(eq=False)
class RunStreams:
    """Streams the runs of one server."""

    broadcaster: Broadcaster
    errors: ErrorTexts
    report: Report
    settings: Settings
    annotators: Sequence[MakeAnnotator] = ()

    def __post_init__(self) -> None:
        self.sockets = Sockets()

    def format(
        self,
        request: HTTPConnection,
        spec: ProtocolSpec[Any],
        dialect: str = "",
        *,
        raw: bool = False,
    ) -> Format:
        """Return a protocol as the client of a request gets it. Raise `UsageError` for its dialect."""
        files = FileLinks(base_url(request, self.settings))
        complete = self.errors.completion(request.scope)
        annotated = spec.annotated_by(self.annotators)
        return annotated.format(dialect, files, complete=complete, raw=raw)

    async def start(
        self,
        run: RunId,
        format: Format,
        after: Position = BEGINNING,
        *,
        on_left: Callable[[], None] | None = None,
    ) -> Response:
        """Return the response that streams a run after a position; 204 where everything was seen.

        Raise what `Broadcaster.open` raises.
        """
        view = await self.broadcaster.open(run, format, after)
        if view.nothing_left:
            return Response(status_code=204, headers={RUN_HEADER: run})
        return self.response(view, format, run, on_left=on_left)

    def response(
        self,
        view: Viewable,
        format: Format,
        run: RunId | None = None,
        *,
        on_left: Callable[[], None] | None = None,
    ) -> EventStream:
        """Return the response that streams a view; with a run, one that names it."""
        headers = {RUN_HEADER: run} if run is not None else {}
        return EventStream(
            view,
            format.spec,
            headers,
            report=self.report,
            errors=self.errors,
            patience=self.settings.stalled,
            on_left=on_left,
        )


# ---------------------------------------------------------------------------
# A WebSocket connection: one task receives, another sends; both end together.
#
# Knows nothing of what is sent: a subclass handles the messages and decides when to close.


# ---------------------------------------------------------------------------
# JSON frames of a socket: how they are declared, read and refused.

T = TypeVar("T")

INVALID_JSON = (msgspec.MsgspecError, RecursionError, UnicodeError)
"""What decoding raises for text that is not JSON."""

encode_bytes = msgspec.json.Encoder().encode


def encode(frame: Any) -> str:
    """Return a frame as a text message."""
    return encode_bytes(frame).decode()


@dataclass_transform(frozen_default=True)
class SocketFrame(Struct, frozen=True, tag_field="type", rename="camel"):
    """Base of the frames that a client sends; `type` names the kind."""


def decode(decoder: Callable[[str | bytes], T], text: str | bytes, types: str) -> T:
    """Decode a client's frame. Raise `UsageError` that names the `types` that are expected."""
    try:
        return decoder(text)
    except msgspec.ValidationError as error:
        raise Unprocessable(f"{error}. `type` must be one of {types}.") from None
    except INVALID_JSON:
        raise UsageError(f"The message must be JSON with `type` one of {types}.") from None


# ---------------------------------------------------------------------------
# The messages that wait to be sent on one socket, in order and bounded.
#
# Frames wait for room: they are in the log, so nothing is lost by being late. Audio that finds no
# room is dropped: it would be played too late.

CLOSE_TIMEOUT = 2.0
"""Seconds that sending the close frame may take."""

MAX_WAITING = 256
"""Messages: some seconds of audio and text."""


class Closing(NamedTuple):
    """Code and reason of a close frame."""

    code: int
    reason: str = ""


class SendQueue:
    """The queue of one socket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._waiting: asyncio.Queue[str | bytes] = asyncio.Queue(MAX_WAITING)
        self._closing: asyncio.Future[Closing] = asyncio.get_running_loop().create_future()
        self.dropped = 0
        """Audio messages that found no room."""

    async def put(self, message: str) -> None:
        """Send a message when there is room."""
        await self._waiting.put(message)

    def put_audio(self, message: str | bytes) -> None:
        """Send audio, if there is room."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.dropped += 1

    def close(self, closing: Closing) -> None:
        """Close the socket now, without what waits; the first reason counts."""
        if not self._closing.done():
            self._closing.set_result(closing)

    async def close_when_sent(self, closing: Closing) -> None:
        """Close the socket when everything that waits has been sent."""
        await self._waiting.join()
        self.close(closing)

    async def wait_closed(self, running: asyncio.Task[None]) -> None:
        """Let the task of `run` send the close frame, if there is one to send."""
        if self._closing.done():
            await asyncio.wait({running}, timeout=CLOSE_TIMEOUT)

    async def run(self) -> None:
        """Send until the socket is closed, by either side."""
        sending = asyncio.create_task(self._send_all())
        try:
            ends: set[asyncio.Future[Any]] = {sending, self._closing}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
        if self._closing.done():
            with suppress(WebSocketDisconnect, RuntimeError, OSError):  # closed already
                await self._socket.close(*self._closing.result())

    async def _send_all(self) -> None:
        try:
            while True:
                await self._send(await self._waiting.get())
                self._waiting.task_done()
        except (WebSocketDisconnect, RuntimeError, OSError):
            return  # the client is gone

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)


# ---------------------------------------------------------------------------

MESSAGES_PER_SECOND = 100.0
"""Audio not counted: more than a person or a page has to send."""
MESSAGE_BURST = 500.0

SHUTDOWN = Closing(1012, "the server is shutting down")
TOO_MANY_MESSAGES = Closing(1008, "too many messages")


class SocketConnection:
    """One client's connection."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._out = SendQueue(socket)
        self._rate = TokenBucket(MESSAGES_PER_SECOND, MESSAGE_BURST, self._now())

    async def serve(self) -> None:
        """Serve an accepted socket until either side closes it. Raise what failed."""
        receiving = asyncio.create_task(self._receive_all(), name="socket receive")
        sending = asyncio.create_task(self._out.run(), name="socket send")
        try:
            await asyncio.wait({receiving, sending}, return_when=asyncio.FIRST_COMPLETED)
            await self._out.wait_closed(sending)
        finally:
            tasks = {receiving, sending, *self._tasks()}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for error in [task.exception() for task in tasks if not task.cancelled()]:
            if error is not None and not isinstance(error, WebSocketDisconnect):
                raise error

    def _tasks(self) -> Iterable[asyncio.Task[None]]:
        """Return other tasks that end with the connection."""
        return ()

    async def _receive_all(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            closing = await self._receive(message)
            if closing is not None:
                self._out.close(closing)
                return

    async def _receive(self, message: Any) -> Closing | None:
        """Handle a message of the client; return why the connection is closed, if it is."""
        raise NotImplementedError

    def _is_too_fast(self) -> bool:
        """Count a message; return whether there are too many."""
        now = self._now()
        if self._rate.wait(1, now):
            return True
        self._rate.take(1, now)
        return False

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


# ---------------------------------------------------------------------------
# The chat sockets of one server, to be closed when it goes down.


class Closable(Protocol):
    """A socket that is open."""

    def close(self) -> None:
        """Close it now; its client comes back."""

    def close_when_idle(self) -> None:
        """Close it as soon as it answers nothing."""


class Sockets:
    """Knows each socket that is open."""

    def __init__(self) -> None:
        self._open: dict[object, Closable] = {}
        self._closed = Notifier()

    def hold(self, socket: Closable) -> Callable[[], None]:
        """Note a socket; return what forgets it."""
        token = object()
        self._open[token] = socket

        def forget() -> None:
            self._open.pop(token, None)
            self._closed.notify()

        return forget

    def close_idle(self) -> None:
        """Close every socket once it has answered what it was asked."""
        for socket in list(self._open.values()):
            socket.close_when_idle()

    def close_all(self) -> None:
        """Close every socket now."""
        for socket in list(self._open.values()):
            socket.close()

    async def finished(self, seconds: float) -> None:
        """Wait until no socket is open, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._open:
                    await self._closed.wait()
