"""How late the event loop is: everything else waits as long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adk_prism.runlog.end_task import end_task
from adk_prism.server.operating.metrics.family import Histogram

INTERVAL = 0.5
"""Seconds: finds what blocks for as long in one look, and costs nothing."""


@asynccontextmanager
async def measuring(lag: Histogram) -> AsyncIterator[None]:
    """Measure while the block runs."""
    task = asyncio.create_task(_measure(lag), name="adk-prism event loop lag")
    try:
        yield
    finally:
        await end_task(task)


async def _measure(lag: Histogram) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + INTERVAL
        await asyncio.sleep(INTERVAL)
        lag.observe(max(0.0, loop.time() - due))
