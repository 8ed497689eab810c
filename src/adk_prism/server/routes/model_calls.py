"""`GET /api/runs/{run}/model-calls`: what was sent to models in a run, and what they answered.

Instructions and tools are the app's, not the user's: where callers are known, this is for administrators.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from adk_prism.errors import Forbidden, NotFound
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.server.identity.caller import Caller, Guest, may_operate
from adk_prism.server.identity.parameters import CallerOf, Run

WithCalls = Annotated[bool, Query(alias="modelCalls", description="with what was sent to models")]


def routes(calls: ModelCalls) -> APIRouter:
    """Return the router of model calls."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/model-calls", response_class=Response)
    async def model_calls(caller: CallerOf, run: Run, cursor: int = Query(0, ge=0)) -> Response:
        """Return the model calls of a run in order, or the one at a cursor.

        Request and response are as ADK writes them, redacted; null if only summaries are kept. `cut` names
        the parts that were too large.
        """
        check_may_see_calls(caller)
        found = await calls.of_run(run, cursor)
        return Response(msgspec.json.encode(found), media_type="application/json")

    return router


def check_may_see_calls(caller: Caller) -> None:
    """Raise `Forbidden` for a caller who is known and no administrator, `NotFound` for a share link."""
    if isinstance(caller, Guest):
        raise NotFound("A share link does not show model calls.")
    if not may_operate(caller):
        raise Forbidden("Model calls are for administrators: they contain the app's instructions.")
