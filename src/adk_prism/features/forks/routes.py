"""Forks: a conversation goes on elsewhere from any cursor of one of its runs.

Body: `at`, a cursor; `newMessage` to say something there, without it the run goes on by itself;
`stateDelta` to change the session's state first, `removeState` to take keys out of it; `sessionId` to name
the new session; `appName`, of an uploaded run, the app that continues it. The answer names the new session
and run; the run is streamed as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.adk.apps import Apps
from adk_prism.errors import UsageError
from adk_prism.features.forks.forks import Forked, ForkRequest, Forks
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import NOTHING, RunId, to_raw
from adk_prism.protocols.adk.routes import Key
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.identity.identity import Run
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.observability import AuditLog
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.request_names import AppName, SessionId
from adk_prism.server.run_starter import ClientState, Idempotency
from adk_prism.server.run_streams import RUN_HEADER

MOST_REMOVED = 1000
"""Keys that one request takes away: more than a person would."""

_DrawnIfEmpty = Annotated[SessionId | None, BeforeValidator(lambda value: value or None)]


class ForkRun(BaseModel):
    """Where a run is forked, and how it goes on."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    at: Annotated[int, Field(strict=True, description="A cursor of the run.")]
    app_name: AppName | None = Field(
        default=None, description="The app that continues an uploaded run; else the run's own."
    )
    new_message: dict[str, Any] | None = Field(
        default=None, description="A genai Content; without it the run goes on by itself."
    )
    state_delta: dict[str, Any] | None = None
    remove_state: list[str] = Field(
        default=[], max_length=MOST_REMOVED, description="Keys of the state to leave out."
    )
    session_id: _DrawnIfEmpty = Field(default=None, description="Without: one is drawn.")
    streaming: bool = True


@dataclass(frozen=True, slots=True)
class ForkRoutes:
    """The route of forks, made of the parts that it uses."""

    apps: Apps
    log: RunLog
    forks: Forks
    client_state: ClientState
    idempotency: Idempotency
    audit: AuditLog
    lifecycle: Lifecycle

    def router(self) -> APIRouter:
        """Return the router of forks."""
        router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])
        router.post("/{run}/fork")(self.fork)
        return router

    async def fork(
        self, request: Request, response: Response, run: Run, asked: ForkRun, key: Key = ""
    ) -> dict[str, Any]:
        """Fork a run at a cursor: a new session with the history, state and artifacts of that moment."""
        self.lifecycle.check_open()
        origin = (await self.log.summary(run)).origin
        app = asked.app_name or origin.app
        delta = asked.state_delta or {}
        await self.apps.open(app)
        if both := delta.keys() & set(asked.remove_state):
            raise UsageError(f"{min(both)[:60]!r} is in `stateDelta` and in `removeState`.")
        await self.client_state.check(app, dict.fromkeys(asked.remove_state) | delta)
        fork = ForkRequest(
            run=run,
            at=asked.at,
            app=asked.app_name or "",
            message=to_raw(asked.new_message) if _has_parts(asked.new_message) else NOTHING,
            state_delta=delta,
            remove_state=asked.remove_state,
            session=asked.session_id or "",
            streaming=asked.streaming,
        )
        made: list[Forked] = []

        async def begin(new: RunId | None, digest: str) -> RunId:
            made.append(await self.forks.fork(fork, new, digest))
            return made[0].run

        body = await request.body()
        new = await self.idempotency.once(key, f"fork {run}", body, begin)
        response.headers[RUN_HEADER] = new
        for forked in made:
            action = AuditedAction(action="run forked", origin=origin, run=run, about=forked.run)
            await self.audit.note(action)
        return await self._answer(new, made)

    async def _answer(self, run: RunId, made: list[Forked]) -> dict[str, Any]:
        """Say what was made; of a fork that a repeated request finds, where it is."""
        origin = (await self.log.summary(run)).origin
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
