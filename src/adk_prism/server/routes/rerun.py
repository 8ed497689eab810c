"""`POST /api/runs/{run}/rerun`: a message answered again, with another model, instruction or the code of now.

Body: `model`; `instructions`, texts by agent; `tools`, `recorded` (default: answered from the recording) or
`live`; `wait`, false to get the answer when the first run has begun. The answer names the new runs, each
streamed and compared as any other. An instruction decides what an app does: where callers are known, this is
for administrators.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.errors import Forbidden, NotFound
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.reruns import Reruns
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.idempotency import Idempotency
from adk_prism.server.identity.caller import Caller, Guest, may_operate
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.routes.adk_run import Key
from adk_prism.server.run_streams import RUN_HEADER
from adk_prism.source.rerun.changed_app import Changes, Tools

MOST_INSTRUCTIONS = 100
LONGEST_NAME = 200


class RerunRun(BaseModel):
    """What is different this time."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    model: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    instructions: Annotated[dict[str, str], Field(max_length=MOST_INSTRUCTIONS)] = {}
    tools: Tools = "recorded"
    wait: bool = True


def routes(
    log: RunLog, reruns: Reruns, idempotency: Idempotency, audit: AuditLog, lifecycle: Lifecycle
) -> APIRouter:
    """Return the router of reruns."""
    router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

    @router.post("/{run}/rerun")
    async def rerun(
        request: Request,
        response: Response,
        caller: CallerOf,
        run: Run,
        asked: RerunRun,
        key: Key = "",
    ) -> dict[str, Any]:
        """Answer the message of a run again, in a new session. Tools are answered from the recording."""
        _check_may_rerun(caller)
        lifecycle.check_open()
        changes = Changes(
            model=asked.model.strip(), instructions=asked.instructions, tools=asked.tools
        )
        begun: list[RunId] = []

        async def begin(new: RunId | None, digest: str) -> RunId:
            begun.append(await reruns.start(run, changes, new, digest))
            return begun[0]

        new = await idempotency.once(key, f"rerun {run}", await request.body(), begin)
        response.headers[RUN_HEADER] = new
        for each in begun:
            origin = (await log.summary(run)).origin
            await audit.note(
                AuditedAction(action="run repeated", origin=origin, run=run, about=each)
            )
        if asked.wait:
            await reruns.wait(new)
        done = await reruns.result(new)
        return {
            "run": new,
            "runs": done.runs,
            "recorded": done.recorded,
            "app": done.origin.app,
            "user": done.origin.user,
            "session": done.origin.session,
            "warnings": done.warnings,
        }

    return router


def _check_may_rerun(caller: Caller) -> None:
    if isinstance(caller, Guest):
        raise NotFound("A share link does not run anything.")
    if not may_operate(caller):
        raise Forbidden("To run an app with changes is for administrators.")
