"""What goes down one socket, in order, and never more than a client can take.

Frames wait for room: they are in the log, and nothing is lost by being late. Sound that finds no room is
dropped: it would be heard too late.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.source.adk.live_eager_task import EagerTask, StartedWork

CLOSE_TIMEOUT = 2.0
"""Seconds that the last message may take."""

MAX_WAITING = 256
"""Messages: some seconds of sound and words."""


class Closing(Struct, frozen=True):
    """The last thing that is said."""

    code: int
    reason: str = ""


class SendQueue:
    """The messages that one client is sent."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._waiting: asyncio.Queue[str | bytes | StartedWork] = asyncio.Queue(MAX_WAITING)
        self._idle: EagerTask | None = None
        """The task that sends, while it waits."""
        self._closing: asyncio.Future[Closing] = asyncio.get_running_loop().create_future()
        self.dropped = 0
        """Pieces of sound that found no room."""

    async def put(self, message: str) -> None:
        """Send a message when there is room."""
        await self._waiting.put(message)

    def put_sound(self, message: str | bytes) -> None:
        """Send a piece of sound, if there is room."""
        left: str | bytes | StartedWork | None = message
        if self._idle is not None and self._waiting.empty():
            left = self._idle.start(self._say(message))
        if left is None:
            return
        try:
            self._waiting.put_nowait(left)
        except asyncio.QueueFull:
            self.dropped += 1

    def close(self, code: int, reason: str = "") -> None:
        """Say nothing more but this, now; the first reason counts."""
        if not self._closing.done():
            self._closing.set_result(Closing(code, reason))

    async def wait_closed(self, sending: asyncio.Task[None]) -> None:
        """Let the task that runs this say why it closes, if it does."""
        if self._closing.done():
            await asyncio.wait({sending}, timeout=CLOSE_TIMEOUT)

    async def finish(self, code: int, reason: str = "") -> None:
        """Close when all that waits has been sent."""
        await self._waiting.join()
        self.close(code, reason)

    async def run(self) -> None:
        """Send until the connection is closed, by either side."""
        sending = asyncio.create_task(self._send())
        try:
            ends: set[asyncio.Future[Any]] = {sending, self._closing}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
        if self._closing.done():
            with suppress(WebSocketDisconnect, RuntimeError, OSError):  # it is closed already
                closing = self._closing.result()
                await self._socket.close(closing.code, closing.reason)

    async def _send(self) -> None:
        me = EagerTask()
        try:
            while True:
                self._idle = me
                message = await self._waiting.get()
                self._idle = None
                await (message.finish() if isinstance(message, StartedWork) else self._say(message))
                self._waiting.task_done()
        except (WebSocketDisconnect, RuntimeError, OSError):
            return  # the client is gone
        finally:
            self._idle = None

    async def _say(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)
