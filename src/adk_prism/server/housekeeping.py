"""What the server does unasked: it removes runs that are past their retention."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import LogError
from adk_prism.runlog.contract import Retention, RunLog
from adk_prism.runlog.end_task import end_task

INTERVAL = 600.0
"""Seconds. Retention is in days, so ten minutes is soon; trimming an already trim log is cheap."""


@asynccontextmanager
async def trimming(log: RunLog, retention: Retention, report: Report) -> AsyncIterator[None]:
    """Trim the log now and then, while the block runs."""
    task = asyncio.create_task(_trim_forever(log, retention, report))
    try:
        yield
    finally:
        await end_task(task)


async def _trim_forever(log: RunLog, retention: Retention, report: Report) -> None:
    while True:
        try:
            await log.trim(retention, time.time())
        except LogError as error:
            report(Diagnostic(kind="trim failed", cause=cause_of(error)))
        await asyncio.sleep(INTERVAL)
