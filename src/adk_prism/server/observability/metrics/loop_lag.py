"""Event loop lag: how late a timer fires, and with it everything else.

A thread checks that the loop still runs. A loop that is blocked for too long is reported at once, with the
stack of what blocks it: usually a synchronous callback of an agent, or a synchronous tool where tools have no
threads.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import Counter, Histogram

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.runlog.cancel_task import cancel_task

INTERVAL = 0.5
"""Seconds between two measurements: the next one finds whatever blocks for as long."""

BLOCKED = 5.0
"""Seconds for which the loop may be blocked before it is reported, unless half a lease is shorter."""

LOOKS = 4
"""Checks of the thread within the time after which a loop counts as blocked."""


@asynccontextmanager
async def measuring(
    lag: Histogram, blocked: Counter, report: Report, limit: float = BLOCKED
) -> AsyncIterator[None]:
    """Measure inside the `async with` block; a lag above `limit` seconds is counted and reported."""
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
            blocked.inc()


class _Watch:
    """Checks from a thread that a loop runs."""

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
        """Note that the loop runs."""
        self._turned = time.monotonic()

    def _look(self) -> None:
        reported = 0.0
        while not self._stopped.wait(self.limit / LOOKS):
            turned = self._turned
            if turned != reported and time.monotonic() - turned - INTERVAL > self.limit:
                reported = turned
                self._report_block()

    def _report_block(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        self._report(
            Diagnostic(
                kind="event loop blocked",
                detail=f"Nothing was served for more than {self.limit:g} s.",
                cause="".join(traceback.format_stack(frame)).rstrip() if frame else "",
            )
        )
