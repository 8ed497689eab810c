"""Cancels a task and waits for its end.

One cancellation may not be enough: `asyncio.wait_for` of Python 3.11, which redis-py uses, swallows one that
arrives at the moment when its result does.
"""

from __future__ import annotations

import asyncio

_PATIENCE = 0.2
"""Seconds until a task is cancelled again."""


async def cancel_task(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_PATIENCE)
