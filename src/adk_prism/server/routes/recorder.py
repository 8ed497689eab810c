"""`POST /api/record`: the door of the recorder plugin (`adk_prism.Recorder`).

The body is a piece of a recording, as JSON lines: entries that follow each other, or nothing, which says that
the recorder is still there. The answer is the last cursor that is stored. The header `x-prism-recorder`
is a secret that the recorder made for the run; the run's id is derived from it (`runlog.recorder_run_id`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from msgspec.structs import replace

from adk_prism.errors import UsageError
from adk_prism.pipeline.runs_from_recorders import Named, RecordedRuns
from adk_prism.runlog.recorder_run_id import recorded_run
from adk_prism.server.identity.caller import Caller, account, caller_of, recorded_user
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.routes.recordings import check_type, safe_names
from adk_prism.server.run_streams import RUN_HEADER

PATH = "/api/record"
TYPES = ("application/jsonl", "application/x-ndjson")
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,128}")

Secret = Annotated[
    str, Header(alias="x-prism-recorder", description="the recorder's secret for this run")
]


def routes(recorded: RecordedRuns, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of recorders."""
    router = APIRouter(tags=["runs"])

    async def record(request: Request, response: Response, secret: Secret = "") -> dict[str, Any]:
        """Take a piece of a run that happens elsewhere; answer the last cursor that is stored."""
        lifecycle.check_open()
        check_type(request, TYPES)
        if _SECRET.fullmatch(secret) is None:
            raise UsageError(
                "The header x-prism-recorder must have 32 to 128 letters, digits, - or _."
            )
        run = recorded_run(secret)
        caller = caller_of(request)
        cursor = await recorded.append(run, await request.body(), _naming(caller), account(caller))
        response.headers[RUN_HEADER] = run
        return {"run": run, "cursor": cursor}

    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in TYPES}
    router.post(PATH, openapi_extra={"requestBody": {"content": content}})(record)
    return router


def _naming(caller: Caller) -> Named:
    """Return how a recorded run is named: who may not speak for others owns what it sends."""
    return lambda origin: replace(
        safe_names(origin), user=recorded_user(caller, safe_names(origin).user)
    )
