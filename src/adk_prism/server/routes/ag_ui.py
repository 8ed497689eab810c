"""AG-UI's routes: what `HttpAgent` posts to, and what goes beyond it.

`HttpAgent` has one URL, and each request is a run. Coming back to a thread, stopping, capabilities and going
on after a lost connection (`Last-Event-ID`) are ours: the protocol names them, and fixes no address.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request, Response

from adk_prism.server.ag_ui.agent_runs import AgentRuns, Asked
from adk_prism.server.ag_ui.capabilities import capabilities
from adk_prism.server.context import Context
from adk_prism.server.guards.chat_body import AgentRoute
from adk_prism.server.guards.name_rules import AppName, SessionId
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.parameters import QueryUser
from adk_prism.server.problem_format import AG_UI_PATH, TEXT_RESPONSES
from adk_prism.server.routes.adk_run import Key

Dialect = Annotated[str, Query(description="AG-UI version: 0.0.59 or 1.0; the input's by default")]
LastSeen = Annotated[str, Header(alias="Last-Event-ID")]
NamedUser = Annotated[str, Query(alias="userId")]


def routes(context: Context) -> APIRouter:
    """Return the router of AG-UI."""
    router = APIRouter(
        prefix=AG_UI_PATH, route_class=StrictRoute, tags=["AG-UI"], responses=TEXT_RESPONSES
    )
    agents = _AgUiRoutes(context)
    nothing: dict[int | str, dict[str, Any]] = {204: {"description": "The run is over"}}
    for path, route in (("/{app_name}", agents.run), ("/{app_name}/connect", agents.connect)):
        router.add_api_route(
            path,
            route,
            methods=["POST"],
            response_class=Response,
            responses=nothing,
            route_class_override=AgentRoute,
        )
    router.get("/{app_name}/capabilities")(agents.capabilities)
    router.post("/{app_name}/{thread_id}/stop")(agents.stop)
    return router


class _AgUiRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._runs = AgentRuns(context)

    async def run(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        user: NamedUser = "",
        dialect: Dialect = "",
        key: Key = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Run the agent on a `RunAgentInput` and stream its events; or go on after `Last-Event-ID`.

        What the conversation does not allow is a stream of one RUN_ERROR.
        """
        asked = Asked(request, app_name, body, user, dialect, key)
        if last_event_id:
            return await self._runs.go_on(asked, last_event_id)
        return await self._runs.run(asked)

    async def connect(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        user: NamedUser = "",
        dialect: Dialect = "",
    ) -> Response:
        """Stream a thread's past, and the run that is on; nothing of a new thread."""
        return await self._runs.connect(Asked(request, app_name, body, user, dialect))

    async def capabilities(self, app_name: AppName) -> dict[str, Any]:
        """Return what the agent can do, as AG-UI's `AgentCapabilities`."""
        await self._context.apps.open(app_name)
        return capabilities(self._context.apps, app_name)

    async def stop(
        self,
        app_name: AppName,
        thread_id: SessionId,
        user: QueryUser,
        body: Annotated[dict[str, Any] | None, Body()] = None,
    ) -> dict[str, Any]:
        """Stop the run of a thread, or only the run `runId` of the body; repeating it is no error."""
        run = (body or {}).get("runId")
        named = run if isinstance(run, str) else ""
        stopped = await self._runs.stop(app_name, user, thread_id, named)
        return {"stopped": stopped.found, **stopped.shown()}
