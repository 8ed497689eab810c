"""Asking a remote that was lost until it is back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from adk_prism.errors import RemoteFailed

T = TypeVar("T")

RECOVERY = 30.0
"""Seconds in which a server that was lost in the middle of a run may come back: a restart takes ten."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 4.0
"""Seconds between two attempts."""


async def until_back(
    ask: Callable[[], Awaitable[T]],
    seconds: float = RECOVERY,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
) -> T:
    """Return what the remote answers. Raise `RemoteFailed` if it is not back in time, or not wanted."""
    until, pause = time.monotonic() + seconds, FIRST_PAUSE
    while True:
        try:
            return await ask()
        except RemoteFailed:
            if time.monotonic() + pause > until or not is_wanted():
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
