"""Runs as streams for HTTP clients: in which format, from which position on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from fastapi import Response
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from adk_prism.adk.errors import report_error
from adk_prism.errors import Diagnostic, LogError, Report
from adk_prism.facts.run_reader import MakeAnnotator
from adk_prism.log.entry import BEGINNING, Position, RunId
from adk_prism.protocols.contract import FileLinks, Format, Payload, ProtocolSpec
from adk_prism.runs.broadcast import Broadcaster
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.proxies import TrustedProxies, page_scheme, written
from adk_prism.server.settings import Settings
from adk_prism.server.websocket import Sockets

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
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async with aclosing(self._view.chunks()) as chunks:
                async for data in chunks:
                    await self._send(send, data)
        except OSError:
            return  # the connection is gone
        except LogError as error:
            report_error(self._report, "stream cut", error)
            return
        except Exception as error:  # the edge: the client is told, and the operator why
            await self._send(send, self._broken(error, scope))
        if not self._view.left:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, data: bytes) -> None:
        self._sending = asyncio.get_running_loop().time()
        await send({"type": "http.response.body", "body": data, "more_body": True})
        self._sending = None

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


class RunStreams:
    """Streams the runs of one server."""

    def __init__(
        self,
        broadcaster: Broadcaster,
        errors: ErrorTexts,
        report: Report,
        settings: Settings,
        annotators: Sequence[MakeAnnotator] = (),
    ) -> None:
        self.broadcaster = broadcaster
        self.sockets = Sockets()
        self._errors = errors
        self._report = report
        self._settings = settings
        self._annotators = annotators

    def format(
        self,
        request: HTTPConnection,
        spec: ProtocolSpec[Any],
        dialect: str = "",
        *,
        raw: bool = False,
    ) -> Format:
        """Return a protocol as the client of a request gets it. Raise `UsageError` for its dialect."""
        files = FileLinks(base_url(request, self._settings))
        complete = self._errors.completion(request.scope)
        annotated = spec.annotated_by(self._annotators)
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
            report=self._report,
            errors=self._errors,
            patience=self._settings.stalled,
            on_left=on_left,
        )
