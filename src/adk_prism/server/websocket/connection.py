"""A WebSocket connection: one task receives, another sends; both end together.

Knows nothing of what is sent: a subclass handles the messages and decides when to close.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.server.limits.token_bucket import TokenBucket
from adk_prism.server.websocket.send_queue import Closing, SendQueue

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
