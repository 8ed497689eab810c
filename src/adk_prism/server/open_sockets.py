"""The chat sockets of one server, to be closed when it goes down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from adk_prism.runlog.notifier import Notifier


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
