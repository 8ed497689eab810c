"""Forks: a conversation goes on elsewhere from any cursor of one of its runs.

Body: `at`, a cursor; `newMessage` to say something there, without it the run goes on by itself;
`stateDelta` to change the session's state first; `sessionId` to name the new session. The answer names
the new session and run; the run is streamed as any other.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.forks import Forked, ForkRequest
from adk_prism.runlog.entry import NOTHING, RunId, to_raw
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import SessionId
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.parameters import Run
from adk_prism.server.routes.run import RUN_HEADER, Key

_DrawnIfEmpty = Annotated[SessionId | None, BeforeValidator(lambda value: value or None)]


class ForkRun(BaseModel):
    """Where a run is forked, and how it goes on."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    at: Annotated[int, Field(strict=True, description="A cursor of the run.")]
    new_message: dict[str, Any] | None = Field(
        default=None, description="A genai Content; without it the run goes on by itself."
    )
    state_delta: dict[str, Any] | None = None
    session_id: _DrawnIfEmpty = Field(default=None, description="Without: one is drawn.")
    streaming: bool = True


def routes(context: Context) -> APIRouter:
    """Return the router of forks."""
    router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])
    router.post("/{run}/fork")(_ForkRoutes(context).fork)
    return router


class _ForkRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def fork(
        self, request: Request, response: Response, run: Run, asked: ForkRun, key: Key = ""
    ) -> dict[str, Any]:
        """Fork a run at a cursor: a new session with the history, state and artifacts of that moment."""
        self._context.lifecycle.check_open()
        origin = (await self._context.log.summary(run)).origin
        app = origin.app
        delta = asked.state_delta or {}
        await self._context.apps.load(app)
        await self._context.client_state.check(app, delta)
        wish = ForkRequest(
            run=run,
            at=asked.at,
            message=to_raw(asked.new_message) if _has_parts(asked.new_message) else NOTHING,
            state_delta=delta,
            session=asked.session_id or "",
            streaming=asked.streaming,
        )
        made: list[Forked] = []

        async def begin(new: RunId | None, digest: str) -> RunId:
            made.append(await self._context.forks.fork(wish, new, digest))
            return made[0].run

        body = await request.body()
        new = await self._context.idempotency.once(key, f"fork {run}", body, begin)
        response.headers[RUN_HEADER] = new
        for forked in made:
            action = AuditedAction(action="run forked", origin=origin, run=run, about=forked.run)
            await self._context.audit.note(action)
        return await self._answer(new, made)

    async def _answer(self, run: RunId, made: list[Forked]) -> dict[str, Any]:
        """Say what was made; of a fork that a repeated request finds, where it is."""
        origin = (await self._context.log.summary(run)).origin
        answer: dict[str, Any] = {
            "run": run,
            "app": origin.app,
            "user": origin.user,
            "session": origin.session,
            "warnings": [],
        }
        for forked in made:
            answer |= {
                "goesOn": forked.goes_on,
                "warnings": forked.differing,
                "missingArtifacts": forked.missing,
                "withheldState": forked.withheld,
            }
        return answer


def _has_parts(message: dict[str, Any] | None) -> bool:
    return bool(message and message.get("parts"))
