"""`GET /api/runs/{run}/transcript`: a run as a short text, with the cursor of each step."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from adk_prism.features.mcp.transcript import CHARACTERS, Steps, transcript
from adk_prism.runs.off_loop import feed_run
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import LARGEST_NUMBER, Run
from adk_prism.server.routes import shown_run

MOST_CHARACTERS = 200_000


def router(context: Context) -> APIRouter:
    """Return the router of transcripts."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/transcript")
    async def read(
        run: Run,
        after: Annotated[int, Query(ge=0, le=LARGEST_NUMBER)] = 0,
        characters: Annotated[int, Query(ge=500, le=MOST_CHARACTERS)] = CHARACTERS,
    ) -> dict[str, Any]:
        """Return a run as text: a row for each step after a cursor, in at most so many characters."""
        summary = await context.log.summary(run)
        steps = Steps()
        await feed_run(context.log, run, steps.feed)
        found = transcript(steps.rows, after, characters)
        about = {"rows": found.rows, "leftOut": found.left_out, "text": found.text}
        return {**shown_run(summary), **about}

    return router
