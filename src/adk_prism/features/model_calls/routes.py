"""`GET /api/runs/{run}/model-calls`: what was sent to models in a run, and what they answered.

Instructions and tools are the app's, not the user's: where callers are known, this is for administrators.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from adk_prism.errors import Forbidden, NotFound
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import RunId
from adk_prism.server.identity.caller import Caller, Guest, may_operate
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf, Run

WithCalls = Annotated[bool, Query(alias="modelCalls", description="with what was sent to models")]


MOST_EARLIER = 20
"""Runs of a conversation in which the agent's last call is looked for."""


def routes(calls: ModelCalls, log: RunLog) -> APIRouter:
    """Return the router of model calls."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/model-calls", response_class=Response)
    async def model_calls(
        caller: CallerOf,
        run: Run,
        cursor: int = Query(0, ge=0, le=LARGEST_NUMBER),
        previous: bool = False,
        compacted: bool = False,
    ) -> Response:
        """Return the model calls of a run in order, or the one at a cursor.

        With `previous`: the one before it of the same agent, also of an earlier `run` of the conversation.
        With `compacted`: the last compaction before it, and the last call of its agent before that.

        Request and response are as ADK writes them, redacted; null if only summaries are kept. `cut` names
        the parts that were too large.
        """
        check_may_see_calls(caller)
        if compacted:
            found = await calls.compacted(run, cursor, await earlier(run))
        elif previous:
            found = await calls.previous(run, cursor, await earlier(run))
        else:
            found = await calls.of_run(run, cursor)
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def earlier(run: RunId) -> list[RunId]:
        origin = (await log.summary(run)).origin
        listed = await log.list(app=origin.app, user=origin.user, session=origin.session)
        runs = [each.run for each in listed]
        before = runs[: runs.index(run)] if run in runs else []
        return before[: -MOST_EARLIER - 1 : -1]

    return router


def check_may_see_calls(caller: Caller) -> None:
    """Raise `Forbidden` for a caller who is known and no administrator, `NotFound` for a share link."""
    if isinstance(caller, Guest):
        raise NotFound("A share link does not show model calls.")
    if not may_operate(caller):
        raise Forbidden("Model calls are for administrators: they contain the app's instructions.")
