"""The messages that wait to be sent on one socket, in order and bounded.

Frames wait for room: they are in the log, so nothing is lost by being late. Audio that finds no room is
dropped: it would be played too late.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.source.adk.live_eager_task import EagerTask, StartedWork

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
        self._waiting: asyncio.Queue[str | bytes | StartedWork] = asyncio.Queue(MAX_WAITING)
        self._idle: EagerTask | None = None
        """The task that sends, while it waits."""
        self._closing: asyncio.Future[Closing] = asyncio.get_running_loop().create_future()
        self.dropped = 0
        """Audio messages that found no room."""

    async def put(self, message: str) -> None:
        """Send a message when there is room."""
        await self._waiting.put(message)

    def put_audio(self, message: str | bytes) -> None:
        """Send audio, if there is room."""
        left: str | bytes | StartedWork | None = message
        if self._idle is not None and self._waiting.empty():
            left = self._idle.start(self._send(message))
        if left is None:
            return
        try:
            self._waiting.put_nowait(left)
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
        this_task = EagerTask()
        try:
            while True:
                self._idle = this_task
                message = await self._waiting.get()
                self._idle = None
                if isinstance(message, StartedWork):
                    await message.finish()
                else:
                    await self._send(message)
                self._waiting.task_done()
        except (WebSocketDisconnect, RuntimeError, OSError):
            return  # the client is gone
        finally:
            self._idle = None

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)
