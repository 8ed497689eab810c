"""`GET /api/runs/{run}/evalcase`: a run, with the conversation before it, as an eval case of ADK."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from adk_prism.errors import NotFound
from adk_prism.pipeline.eval_cases import EvalCases
from adk_prism.runlog.contract import RunLog
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.limits.heavy_work import HeavyWork


def routes(log: RunLog, cases: EvalCases, heavy: HeavyWork) -> APIRouter:
    """Return the router of eval cases."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/evalcase")
    async def evalcase(caller: CallerOf, run: Run) -> dict[str, Any]:
        """Return the conversation up to this run as `EvalCase` of ADK, without messages that were replaced.

        A run that failed, waits, or has not ended is refused: it has no answer to expect.
        """
        if isinstance(caller, Guest):
            raise NotFound("A share link shows one run, not its conversation.")
        async with heavy.slot(caller, (await log.summary(run)).bytes):
            return await cases.of(run)

    return router
