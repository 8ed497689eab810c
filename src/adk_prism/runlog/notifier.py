"""Wakes tasks of the event loop that wait for a change."""

from __future__ import annotations

import asyncio


class Notifier:
    """Wakes every waiting task. Each waits on its own future, so cancelling one leaves the rest."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def is_awaited(self) -> bool:
        """Whether a task waits."""
        return bool(self._waiters)

    def notify(self) -> None:
        """Wake every waiting task."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Wait for the next `notify`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
