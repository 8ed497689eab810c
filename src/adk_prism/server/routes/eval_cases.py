"""`GET /api/runs/{run}/evalcase`: a run, with the conversation before it, as an eval case of ADK."""

from __future__ import annotations

import asyncio

import msgspec
from fastapi import APIRouter, Response

from adk_prism.errors import NotFound
from adk_prism.pipeline.eval_cases import EvalCases
from adk_prism.runlog.contract import RunLog
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.limits.heavy_work import HeavyWork


def routes(log: RunLog, cases: EvalCases, heavy: HeavyWork) -> APIRouter:
    """Return the router of eval cases."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/evalcase", response_class=Response)
    async def evalcase(caller: CallerOf, run: Run) -> Response:
        """Return the conversation up to this run as `EvalCase` of ADK, without messages that were replaced.

        A run that failed, waits, or has not ended is refused: it has no answer to expect.
        """
        if isinstance(caller, Guest):
            raise NotFound("A share link shows one run, not its conversation.")
        async with heavy.slot(caller, (await log.summary(run)).bytes):
            case = await cases.of(run)
            body = await asyncio.to_thread(msgspec.json.encode, case)
        return Response(body, media_type="application/json")

    return router
