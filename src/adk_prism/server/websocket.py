"""A WebSocket connection: one task receives, another sends; both end together.

Knows nothing of what is sent: a subclass handles the messages and decides when to close.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar, dataclass_transform

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.errors import Unprocessable, UsageError
from adk_prism.log.private_files import Notifier
from adk_prism.server.limits import TokenBucket

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
