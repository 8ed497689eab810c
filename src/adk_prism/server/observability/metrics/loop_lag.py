"""How late the event loop is: everything else waits as long.

A thread looks whether the loop still turns. One that has stood still for too long is told to the operator at
once, with the stack of what holds it: usually a synchronous callback of an agent, or a synchronous tool where
tools have no threads.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.runlog.cancel_task import cancel_task
from adk_prism.server.observability.metrics.family import Counter, Histogram

INTERVAL = 0.5
"""Seconds: finds what blocks for as long in one look, and costs nothing."""

BLOCKED = 5.0
"""Seconds for which a loop may stand still before the operator is told, where no lease says less."""

LOOKS = 4
"""Of the thread, in the time after which a loop counts as blocked."""


@asynccontextmanager
async def measuring(
    lag: Histogram, blocked: Counter, report: Report, limit: float = BLOCKED
) -> AsyncIterator[None]:
    """Measure while the block runs; what is later than `limit` seconds is told, and counted."""
    watch = _Watch(report, limit)
    task = asyncio.create_task(_measure(lag, blocked, watch), name="adk-prism event loop lag")
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        await cancel_task(task)


async def _measure(lag: Histogram, blocked: Counter, watch: _Watch) -> None:
    loop = asyncio.get_running_loop()
    while True:
        watch.turned()
        due = loop.time() + INTERVAL
        await asyncio.sleep(INTERVAL)
        late = max(0.0, loop.time() - due)
        lag.observe(late)
        if late > watch.limit:
            blocked.add()


class _Watch:
    """Looks from a thread whether a loop turns."""

    def __init__(self, report: Report, limit: float) -> None:
        self._report = report
        self.limit = limit
        self._loop_thread = threading.get_ident()
        self._turned = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="adk-prism loop", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def turned(self) -> None:
        """Note that the loop turns."""
        self._turned = time.monotonic()

    def _look(self) -> None:
        told = 0.0
        while not self._stopped.wait(self.limit / LOOKS):
            turned = self._turned
            if turned != told and time.monotonic() - turned - INTERVAL > self.limit:
                told = turned
                self._tell()

    def _tell(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        self._report(
            Diagnostic(
                kind="event loop blocked",
                detail=f"Nothing was served for more than {self.limit:g} s.",
                cause="".join(traceback.format_stack(frame)).rstrip() if frame else "",
            )
        )
