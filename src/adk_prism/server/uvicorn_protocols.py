"""uvicorn's protocols with bounds on what comes before a request: how long, how large, how many.

uvicorn 0.54 waits for ever for the rest of a request's headers, and reads any number of them. Here a
connection has `HEADERS_SECONDS` from its beginning, and from the first byte of each later request, until the
headers are complete; then bodies have bounds of their own (`guards/body_limit.py`), until the answer: the
rest of a body is not read for long after that. `Connections` decides how many may wait. Only what uvicorn's
classes offer to subclasses is used.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from adk_prism.server.guards.local_requests import KNOWN_KEY
from adk_prism.server.limits.connections import Connections, Peer

HEADERS_SECONDS = 10.0
"""For all headers of a request. They fit into some packets; browsers open connections in advance, and open
another one where one was closed."""

MOST_HEADER_BYTES = 64 * 1024
"""Before the headers are complete: eight times what common proxies pass on."""

LINGER_SECONDS = 2.0
"""For the rest of a body after the answer: a client that has sent it all reads the answer, where one whose
connection is closed at once may not. uvicorn would wait for as long as bytes come."""

_ANSWER = b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_SLOW = _ANSWER % b"408 Request Timeout"
_TOO_LARGE = _ANSWER % b"431 Request Header Fields Too Large"


class BoundedHttp(HttpToolsProtocol):
    """One HTTP connection."""

    def __init__(self, *args: Any, doors: Connections, **more: Any) -> None:
        super().__init__(*args, **more)
        self._doors = doors
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0
        """Bytes since the headers were last complete; those of a body are not counted."""
        self._linger: asyncio.TimerHandle | None = None
        """Ends the wait for the rest of a body after the answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self._doors.opened(self.client, self)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        self._end_linger()
        self._doors.forget(self.client)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self._received > MOST_HEADER_BYTES and self._is_answering():
            self.drop()  # These are the headers of the next request: the current response cannot report it.
        elif self._received > MOST_HEADER_BYTES:
            self._refuse(_TOO_LARGE)
        elif self._received and self._deadline is None and not self._is_answering():
            # Also for data before a request, such as empty lines.
            self._expect_headers()

    def on_headers_complete(self) -> None:
        """Take a request: its headers are there."""
        self._end_deadline()
        self._received = 0
        self._doors.asked(self.client)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take some of a body, which has bounds of its own."""
        self._received = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._end_linger()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; or, if the body of this one was not wanted, not for long for its end."""
        self._received = 0
        self._doors.answered(self.client)
        cycle: RequestResponseCycle | None = self.cycle
        super().on_response_complete()
        if cycle is not None and cycle.more_body and not self.transport.is_closing():
            self._linger = self.loop.call_later(LINGER_SECONDS, self.drop)
            self._doors.lingers(self.client, self)

    def _end_linger(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
            self._doors.lingers_no_more(self.client)

    def drop(self) -> None:
        """Close the connection without a word: others wait for its place."""
        self.transport.abort()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _expect_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADERS_SECONDS, self._give_up)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        # Who has sent nothing has asked for nothing, and is not answered.
        self._refuse(_TOO_SLOW if self._received else b"")

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            if answer:
                self.transport.write(answer)
            self.transport.close()


class BoundedSocket(WebSocketsSansIOProtocol):
    """One WebSocket: it took the place of an HTTP connection, and ends its count."""

    def __init__(self, *args: Any, doors: Connections, **more: Any) -> None:
        super().__init__(*args, **more)
        self._doors = doors

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no longer."""
        self._doors.forget(self.client)
        super().connection_lost(exc)


class Introduce:
    """Puts a function into the scope, to be called when the caller is authenticated: it ends the count."""

    def __init__(self, app: ASGIApp, doors: Connections) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            peer = cast("Peer | None", scope.get("client"))
            scope[KNOWN_KEY] = lambda: self._doors.forget(peer)
        await self._app(scope, receive, send)
