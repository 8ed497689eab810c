"""One HTTP/1.1 connection to a remote, and the answer that is being read from it.

A streamed run is thousands of small chunks, so what a chunk costs counts: httptools' parser, and one future
while there is nothing to read. Reading stops while nobody takes what came. The answer's head has a size;
what else is limited, and how long anything may take, whoever reads decides (`abort`).
"""

from __future__ import annotations

import asyncio
from typing import cast

import httptools

MOST_UNREAD = 256 * 1024
"""Bytes of a body after which the socket is not read until somebody takes them."""

LARGEST_HEAD = 64 * 1024
"""Bytes of the lines before a body, and after it; twice what servers accept."""

SPACING = 0.01
"""Seconds between two reads of a stream: what comes faster is taken together, and costs a fraction. The first
piece after a pause is taken at once; a screen shows sixty pictures a second."""

LARGE_READ = 16 * 1024
"""Bytes of one read that say that more is there."""

_INTERIM = range(100, 200)
_UNASKED = "it sent something that nobody asked for"
_LOST = "the connection to its server was lost"


class HttpFailed(Exception):
    """An exchange that failed. The text is safe for a client; `cause` is for the operator."""

    def __init__(self, why: str, cause: str = "") -> None:
        super().__init__(why)
        self.cause = cause


class Exchange(asyncio.Protocol):
    """A connection, and the answer to the request that was last sent on it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._failure: BaseException | None = None
        self._start()

    def _start(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """By name, in lower case."""
        self._pieces: list[bytes] = []
        self._unread = 0
        self._head_size = 0
        self._has_head = False
        self._is_complete = False
        self._is_kept = False
        """Whether the answer came to its end, and the server keeps the connection."""
        self.is_stream = False
        """Whether what comes fast is taken together."""

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent."""
        transport = self._transport
        return self._parser is None and transport is not None and not transport.is_closing()

    @property
    def has_answer(self) -> bool:
        """Whether anything of an answer came."""
        return self._head_size > 0

    def send(self, request: bytes) -> None:
        """Send a request; its answer is read with `head` and `read`."""
        assert self._transport is not None
        self._start()
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(request)

    async def head(self) -> None:
        """Wait for `status` and `headers`. Raise `HttpFailed`, or what it was aborted with."""
        while not self._has_head:
            await self._news()

    async def read(self) -> bytes:
        """Return what came of the body; empty at its end. Raise `HttpFailed`, or what it was aborted with."""
        while not self._pieces:
            if self._is_complete:
                return b""
            await self._news()
        pieces, self._pieces = self._pieces, []
        was_full, self._unread = self._unread > MOST_UNREAD, 0
        if was_full:
            self._resume()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _news(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def abort(self, error: BaseException | None = None) -> None:
        """Close the connection; whoever reads gets the error, after what has come."""
        self._fail(error or HttpFailed(_LOST))

    def tunnel(self) -> asyncio.Transport:
        """Return the connection itself, to speak something else on it."""
        assert self._transport is not None
        return self._transport

    def finish(self) -> bool:
        """Return whether the connection may be used again; else close it."""
        self._parser = None
        if self._is_kept and self.is_usable:
            return True
        self.abort()
        return False

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        """Read a piece of the answer."""
        parser = self._parser
        if parser is None:  # Nothing was asked.
            self._fail(HttpFailed(_UNASKED))
            return
        if not self._has_head:
            self._head_size += len(data)
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._is_complete:
                self._fail(HttpFailed("it does not speak HTTP", str(error)))
        if not self._has_head and self._head_size > LARGEST_HEAD:
            self._fail(HttpFailed("the headers of its answer are too large"))
        elif self._unread > MOST_UNREAD:
            self._pause()
        elif self.is_stream and len(data) < LARGE_READ and not self._is_complete:
            self._pause()
            asyncio.get_running_loop().call_later(SPACING, self._resume)
        self._wake()

    def _pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._transport is not None and self._unread <= MOST_UNREAD:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end; of a body without a length, it is the end of the body."""
        is_open_ended = not {"content-length", "transfer-encoding"} & self.headers.keys()
        if self._has_head and is_open_ended and exc is None:
            self._is_complete = True
        self._fail(HttpFailed(_LOST, str(exc or "")))

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # ------------------------------------------------------------------ httptools

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._is_complete:
            self._fail(HttpFailed(_UNASKED))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header; what comes after the body is not one."""
        if not self._has_head:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note the head; 1xx are not answers."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status in _INTERIM:
            self.headers.clear()
            return
        self.status = status
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body until it is read."""
        if not self._is_complete:
            self._pieces.append(body)
            self._unread += len(body)

    def on_message_complete(self) -> None:
        """Note the end of the body."""
        if self._has_head and self._parser is not None:
            self._is_complete = True
            self._is_kept = self._parser.should_keep_alive()
