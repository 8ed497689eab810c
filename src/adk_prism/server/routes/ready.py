"""`GET /ready`: whether a load balancer should send new work here.

The run log is written to and the sessions are read, within a bound that is shorter than the period of any
usual probe. Whoever asks meanwhile, or shortly after, gets the same answer: anybody may ask, and each
question writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Response

from adk_prism.errors import LogError, PrismError
from adk_prism.runlog.contract import RunLog
from adk_prism.server.adk.adk_models import Health, Readiness
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.source.adk.capabilities import switched_off
from adk_prism.source.apps import Apps

BOUND = 1.5
"""Seconds for the stores to answer; one that takes longer is away. Probes come every two seconds or less
often."""

KEPT = 1.0
"""Seconds for which an answer is given to whoever asks."""


def routes(log: RunLog, apps: Apps, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of readiness."""
    router = APIRouter(tags=["operating"])
    probe = _Probe(lambda: _ask(log, apps))

    @router.get("/ready", responses={503: {"model": Health}}, response_model_exclude_none=True)
    async def ready(response: Response) -> Readiness:
        """Tell whether the server takes new work, and its stores are there; 503 if not."""
        if lifecycle.draining:
            response.status_code = 503
            return Readiness(status="draining")
        await probe()
        return Readiness(status="ok", detail=switched_off() or None)

    return router


async def _ask(log: RunLog, apps: Apps) -> None:
    try:
        async with asyncio.timeout(BOUND):
            await log.probe()
            await apps.check_sessions()
    except TimeoutError:
        raise LogError("The run log or the session store did not answer in time.") from None


class _Probe:
    """A question that is asked once for all who want to know."""

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        self._ask = ask
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._error: PrismError | None = None

    async def __call__(self) -> None:
        """Raise what the question raised."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            if loop.time() >= self._until:
                try:
                    await self._ask()
                    self._error = None
                except PrismError as error:
                    self._error = error
                self._until = loop.time() + KEPT
            found = self._error
        if found is not None:
            raise found.with_traceback(None)
