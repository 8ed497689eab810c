"""The HTTP server of our own process: uvicorn, which drains before it stops.

On the first SIGTERM, SIGINT or SIGHUP the server continues to answer while it drains: health says 503, new
work is refused, the drain hooks finish or hand over what runs, within the grace period. Then it
stops listening and closes. A second SIGTERM or SIGINT stops it at once. A second SIGHUP does not: a terminal
that closes sends one to every process, and the parent of workers passes it on as well.

Agent code runs in the same process. Signal handlers that it installs are replaced by ours again. If it
cancels the tasks of the server, which includes those that write the log, the server drains, stops and says
why.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, Protocol, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from adk_prism.errors import Diagnostic, ServerCancelled
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import THIS_MACHINE
from adk_prism.server.proxies import KNOWN_KEY, PEER_KEY, TrustedProxies, counted_address

# ---------------------------------------------------------------------------
# Limits idle connections of callers that have not authenticated, per address.
#
# A connection needs a descriptor before its first request. An address may have `MOST_WAITING` idle
# connections without authentication; beyond that, those that have waited longest are closed, never
# the newest, so an authenticated caller behind the same address still gets in. A connection counts
# until its caller is authenticated or, without authentication, until its first request. Connections
# of trusted proxies do not count, because all of their clients share the address.
#
# Knows no protocol: the owner of a connection closes it (`drop`). Opening and closing take constant
# time, so a flood of connections does not slow down others.

MOST_WAITING = 64
"""Of one address. A browser opens six to a server; behind a shared address there are dozens of browsers, but
each sends its request at once."""

GRACE = 1.0
"""Seconds that a connection may wait, however many there are: a burst of clients connects before the first of
them has sent anything."""

MOST_AT_ONCE = 512
"""Waiting connections of one address, in their first second too: half of the usual 1,024 descriptors."""

MOST_LINGERING = 32
"""Of one address: connections whose request was answered while its body is still coming."""

Peer = tuple[str, int]


class Connection(Protocol):
    """What owns a connection."""

    def drop(self) -> None:
        """Close it without an answer."""


@dataclass(slots=True)
class _Address:
    """The counted connections of one address."""

    idle: dict[Peer, tuple[Connection, float]] = field(default_factory=dict)
    """Those that ask for nothing, and since when: in that order, so the first has waited longest."""
    answering: dict[Peer, Connection] = field(default_factory=dict)
    """Those whose request is being answered: never closed."""

    def __len__(self) -> int:
        return len(self.idle) + len(self.answering)


class Connections:
    """The connections of one server whose callers are not known."""

    def __init__(
        self, trusted: TrustedProxies, *, until_known: bool, refused: Callable[[str], None]
    ) -> None:
        """`until_known`: callers must authenticate. `refused` counts what was closed."""
        self._trusted = trusted
        self._until_known = until_known
        self._refused = refused
        self._by_address: dict[str, _Address] = {}
        self._sweeps: set[str] = set()
        """Addresses that are checked again soon."""
        self._lingering: dict[str, dict[Peer, Connection]] = {}
        """By address: answered, and the body is still coming."""

    def opened(self, peer: Peer | None, connection: Connection) -> None:
        """Count a connection that was accepted. Others of its address may be closed for it."""
        if peer is None or self._trusted.has(peer[0]):
            return
        address = counted_address(peer[0])
        counted = self._by_address.setdefault(address, _Address())
        counted.idle[peer] = (connection, _now())
        if len(counted) > MOST_AT_ONCE:
            self._close(address, keep=MOST_AT_ONCE, grace=0.0)
        if len(counted) > MOST_WAITING:
            self._sweep_soon(address)

    def asked(self, peer: Peer | None) -> None:
        """Note that a whole request has come on a connection."""
        if not self._until_known:
            self.forget(peer)
        elif peer is not None and peer in (counted := self._of(peer)).idle:
            counted.answering[peer] = counted.idle.pop(peer)[0]

    def answered(self, peer: Peer | None) -> None:
        """Note that a connection asks for nothing any more."""
        if peer is not None and peer in (counted := self._of(peer)).answering:
            counted.idle[peer] = (counted.answering.pop(peer), _now())

    def forget(self, peer: Peer | None) -> None:
        """Stop counting a connection: its caller is known, or it is closed."""
        if peer is not None:
            counted = self._of(peer)
            counted.idle.pop(peer, None)
            counted.answering.pop(peer, None)
            if not counted:
                self._by_address.pop(counted_address(peer[0]), None)

    def lingers(self, peer: Peer | None, connection: Connection) -> None:
        """Note a connection whose request was answered before its body had come; the oldest may be closed.

        Those of known callers and of proxies count as well: a refused body is of no use to anybody.
        """
        if peer is None:
            return
        waiting = self._lingering.setdefault(counted_address(peer[0]), {})
        waiting[peer] = connection
        while len(waiting) > MOST_LINGERING:
            oldest = next(iter(waiting))
            self._refused("connections")
            waiting.pop(oldest).drop()

    def lingers_no_more(self, peer: Peer | None) -> None:
        """Note that a body has come to its end, or its connection."""
        address = counted_address(peer[0]) if peer is not None else ""
        waiting = self._lingering.pop(address, {})
        left = {each: connection for each, connection in waiting.items() if each != peer}
        if left:
            self._lingering[address] = left

    def count(self, host: str) -> int:
        """Return how many connections of an address count."""
        return len(self._by_address.get(counted_address(host), ()))

    def _of(self, peer: Peer) -> _Address:
        """Return the counted connections of an address; none for one that is not counted."""
        return self._by_address.get(counted_address(peer[0])) or _Address()

    def _sweep_soon(self, address: str) -> None:
        if address not in self._sweeps:
            self._sweeps.add(address)
            asyncio.get_running_loop().call_later(GRACE, self._sweep, address)

    def _sweep(self, address: str) -> None:
        self._sweeps.discard(address)
        self._close(address, keep=MOST_WAITING, grace=GRACE)
        if len(self._by_address.get(address, ())) > MOST_WAITING:
            self._sweep_soon(address)

    def _close(self, address: str, *, keep: int, grace: float) -> None:
        """Close those that have waited longest, down to the number that is kept."""
        counted = self._by_address.get(address)
        latest = _now() - grace
        while counted is not None and len(counted) > keep and counted.idle:
            peer, (connection, since) = next(iter(counted.idle.items()))
            if since > latest:
                return
            del counted.idle[peer]
            self._refused("connections")
            connection.drop()


def _now() -> float:
    return asyncio.get_running_loop().time()


# ---------------------------------------------------------------------------
# uvicorn's protocols with bounds on what comes before a request: how long, how large, how many.
#
# uvicorn 0.54 waits for ever for the rest of a request's headers, and reads any number of them. Here
# a connection has `HEADERS_SECONDS` from its beginning, and from the first byte of each later
# request, until the headers are complete; then bodies have bounds of their own
# (`request_bodies.py`), until the answer: the rest of a body is not read for long after that.
# `Connections` decides how many may wait. Only what uvicorn's classes offer to subclasses is used.

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
        # A client that has sent nothing gets no answer.
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


class NoteConnection:
    """Notes in the scope whose connection it is, before anything rewrites that.

    A function there is to be called when the caller is authenticated: it ends the count.
    """

    def __init__(self, app: ASGIApp, doors: Connections) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            peer = scope[PEER_KEY] = cast("Peer | None", scope.get("client"))
            scope[KNOWN_KEY] = lambda: self._doors.forget(peer)
        await self._app(scope, receive, send)


# ---------------------------------------------------------------------------

PING_INTERVAL = 20.0
"""Seconds between two pings to a socket, and until one without an answer is taken for dead."""

HANGUP: int | None = getattr(signal, "SIGHUP", None)
"""There is none on Windows."""

CANCELLED = (
    "Agent code cancelled the tasks of the server, those that write the log among them, so it stopped."
    " Start it again: what ran is taken up or ended then."
)
MOST_CANCELLATIONS = 100
"""After which the server stops without draining: whatever cancels it does so again and again."""

LAST_SECONDS = 2
"""How long connections may take to close when everything has drained."""


async def serve(app: ASGIApp, context: Context, listeners: Sequence[socket.socket]) -> None:
    """Serve on listening sockets until a signal comes, then drain and stop.

    Raise `ServerCancelled` if agent code had cancelled the server.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=context.settings.body_limit,
        # Browsers ask for it; sound does not get smaller, and each socket would hold two compressors.
        ws_per_message_deflate=False,
        ws_ping_interval=PING_INTERVAL,
        ws_ping_timeout=PING_INTERVAL,
        server_header=False,
        root_path=context.settings.root_path,
        forwarded_allow_ips=list(context.settings.trusted_proxy),
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    config.load()
    doors = _doors(context)
    # Outermost: within, the address is what X-Forwarded-For says.
    config.loaded_app = NoteConnection(config.loaded_app, doors)
    # uvicorn calls them, and asks for nothing else.
    config.http_protocol_class = cast("Any", partial(BoundedHttp, doors=doors))
    config.ws_protocol_class = cast("Any", partial(BoundedSocket, doors=doors))
    try:
        server = _DrainingServer(config, context)
        await server.serve(sockets=list(listeners))
        if server.was_cancelled:
            raise ServerCancelled(CANCELLED)
    finally:
        # uvicorn leaves the lifespan out when it is forced to exit.
        await context.lifecycle.stop()


def _doors(context: Context) -> Connections:
    settings = context.settings
    # Where a proxy names the user and none is said to be trusted, this machine's is.
    by_header = THIS_MACHINE if settings.proxy_user_header else ()
    return Connections(
        TrustedProxies(settings.trusted_proxy or by_header),
        until_known=context.identity.required,
        refused=context.observability.meter.refused,
    )


def _is_hangup_heard() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN


class _DrainingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._lifecycle = context.lifecycle
        self._grace = context.settings.grace
        self._report = context.report
        self._handled: tuple[int, ...] = ()
        """Signals that we handle."""
        self.was_cancelled = False
        """By agent code."""
        self._signals = 0
        self._drain: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle SIGHUP like the others, unless it is ignored, as with `nohup`."""
        is_main = threading.current_thread() is threading.main_thread()
        usual = (signal.SIGINT, signal.SIGTERM) if is_main else ()
        if HANGUP is None or not _is_hangup_heard():
            with super().capture_signals():
                self._handled = usual
                yield
            return
        before = signal.signal(HANGUP, self.handle_exit)
        try:
            with super().capture_signals():
                self._handled = (*usual, HANGUP)
                yield
        finally:
            signal.signal(HANGUP, before)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: drain at the first, stop now at the second. It is not raised again."""
        del frame
        if self._signals and sig == HANGUP:
            return
        self._signals += 1
        if self._signals > 1:
            self.should_exit = self.force_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Begin to drain when a signal has come; called ten times a second."""
        self._keep_signals()
        if self._signals and (self._drain is None or self._drain.cancelled()):
            self._drain = asyncio.create_task(self._drain_then_exit())
        return await super().on_tick(counter)

    def _keep_signals(self) -> None:
        """Handle the signals again whose handlers agent code has replaced: the operator ends the process."""
        for number in self._handled:
            if signal.getsignal(number) != self.handle_exit:
                signal.signal(number, self.handle_exit)
                name = signal.Signals(number).name
                detail = (
                    f"Agent code replaced the handler of {name}; the server's is in place again."
                )
                self._report(Diagnostic(kind="signal handler replaced", detail=detail))

    async def main_loop(self) -> None:
        """Serve until it is time to stop. Whoever cancels this task has cancelled others too."""
        for _ in range(MOST_CANCELLATIONS):
            try:
                await super().main_loop()
            except asyncio.CancelledError:
                self._note_cancelled()
            else:
                return
        self.should_exit = self.force_exit = True

    def _note_cancelled(self) -> None:
        """Go on with this task, to drain and to stop."""
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        self._signals = self._signals or 1
        if not self.was_cancelled:
            self.was_cancelled = True
            self._report(Diagnostic(kind="server cancelled", detail=CANCELLED))

    async def _drain_then_exit(self) -> None:
        try:
            await self._lifecycle.drain(self._grace)
        finally:
            self.should_exit = True
