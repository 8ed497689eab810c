"""CopilotKit's runtime wire, so that `<CopilotKit runtimeUrl="/api/copilotkit">` needs no Node server.

Follows what `@copilotkit/core` 1.74 sends and `@copilotkit/runtime` 1.74 answers in the mode `sse`: one
address for each operation, or all at the base address as `{method, params, body}`. Agents are the apps,
threads are ADK sessions. What CopilotKit's cloud adds (changing threads, memories, learning) is not offered,
and `/info` says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, Query, Request, Response
from msgspec import Raw, Struct

from adk_prism.errors import UsageError
from adk_prism.pipeline.cancellation import CancelResult
from adk_prism.runlog.entry import Origin
from adk_prism.server.ag_ui.agent_runs import AgentRuns, Asked
from adk_prism.server.ag_ui.runtime_agents import RuntimeAgents
from adk_prism.server.ag_ui.threads import MOST_LISTED, Threads
from adk_prism.server.context import Context
from adk_prism.server.guards.chat_body import AgentRoute
from adk_prism.server.guards.name_rules import SessionId, check_session
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import caller_of, listed_user
from adk_prism.server.identity.parameters import CallerOf
from adk_prism.server.problem_format import COPILOTKIT_PATH, TEXT_RESPONSES

Json = dict[str, Any]
NamedUser = Annotated[str, Query(alias="userId")]
AgentId = Annotated[str, Query(alias="agentId")]


def routes(context: Context) -> APIRouter:
    """Return the router of the runtime."""
    router = APIRouter(
        prefix=COPILOTKIT_PATH,
        route_class=StrictRoute,
        tags=["CopilotKit"],
        responses=TEXT_RESPONSES,
    )
    runtime = _Runtime(context)
    router.post("", response_class=Response)(runtime.call)
    router.get("/info")(runtime.info)
    for path, route in (("run", runtime.run), ("connect", runtime.connect)):
        router.add_api_route(
            f"/agent/{{agent_id}}/{path}",
            route,
            methods=["POST"],
            response_class=Response,
            route_class_override=AgentRoute,
        )
    router.post("/agent/{agent_id}/stop/{thread_id}")(runtime.stop)
    router.get("/threads")(runtime.threads)
    router.get("/threads/{thread_id}/messages", response_class=Response)(runtime.messages)
    router.get("/threads/{thread_id}/events", response_class=Response)(runtime.events)
    router.get("/threads/{thread_id}/state", response_class=Response)(runtime.state)
    return router


class _Runtime:
    def __init__(self, context: Context) -> None:
        self._runs = AgentRuns(context)
        self._agents = RuntimeAgents(context.apps)
        self._threads = Threads(context.log, context.chats, context.apps, context.heavy)

    # -------------------------------------------------------------- agents

    async def info(self) -> Json:
        """Return the agents of this runtime, and what it can do."""
        return self._agents.info()

    async def run(
        self, request: Request, agent_id: str, body: Json, user: NamedUser = ""
    ) -> Response:
        """Run an agent on a `RunAgentInput`, and stream its events."""
        asked = Asked(request, self._agents.app(agent_id), body, user)
        return await self._runs.run(asked)

    async def connect(
        self, request: Request, agent_id: str, body: Json, user: NamedUser = ""
    ) -> Response:
        """Stream a thread's past, and the run that is on."""
        return await self._runs.connect(Asked(request, self._agents.app(agent_id), body, user))

    async def stop(
        self,
        caller: CallerOf,
        agent_id: str,
        thread_id: SessionId,
        body: Annotated[Json | None, Body()] = None,
        user: NamedUser = "",
    ) -> Json:
        """Stop the run of a thread, or only the run `runId` of the body."""
        app, owner = self._agents.app(agent_id), listed_user(caller, user)
        run = (body or {}).get("runId")
        if run is not None and (not isinstance(run, str) or not run):
            raise UsageError("`runId` must be a non-empty string.")
        found = await self._threads.search(thread_id, app, owner)
        if found is None:
            return _stopped(CancelResult(False, []))
        return _stopped(await self._runs.stop(app, found.user, thread_id, run or ""))

    # -------------------------------------------------------------- threads

    async def threads(
        self,
        caller: CallerOf,
        agent_id: AgentId = "",
        limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = MOST_LISTED,
        user: NamedUser = "",
    ) -> Json:
        """Return the caller's threads, the one that was active last first."""
        app = self._agents.app(agent_id) if agent_id else ""
        listed = await self._threads.listed(app, listed_user(caller, user), limit)
        for thread in listed:
            thread["agentId"] = agent_id or thread["agentId"]
        return {"threads": listed, "nextCursor": None}

    async def messages(
        self, request: Request, thread_id: SessionId, agent_id: AgentId = "", user: NamedUser = ""
    ) -> Response:
        """Return the messages of a thread, without those that are still being said."""
        origin = await self._origin(request, thread_id, agent_id, user)
        format = self._runs.format(request, "")
        found = await self._threads.messages(caller_of(request), origin, format)
        return _json({"messages": Raw(found)})

    async def events(
        self, request: Request, thread_id: SessionId, agent_id: AgentId = "", user: NamedUser = ""
    ) -> Response:
        """Return the events of a thread's runs."""
        origin = await self._origin(request, thread_id, agent_id, user)
        format = self._runs.format(request, "")
        found = await self._threads.events(caller_of(request), origin, format)
        return _json({"events": Raw(found)})

    async def state(
        self, request: Request, thread_id: SessionId, agent_id: AgentId = "", user: NamedUser = ""
    ) -> Response:
        """Return the state of a thread."""
        origin = await self._origin(request, thread_id, agent_id, user)
        return _json({"state": await self._threads.state(origin)})

    async def _origin(self, request: Request, thread: str, agent: str, user: str) -> Origin:
        app = self._agents.app(agent) if agent else ""
        return await self._threads.find(thread, app, listed_user(caller_of(request), user))

    # -------------------------------------------------------------- one address for all

    async def call(self, request: Request, envelope: Json, user: NamedUser = "") -> Response:
        """Do what `method` names: info, agent/run, agent/connect or agent/stop."""
        method = envelope.get("method")
        do = self._methods.get(method) if isinstance(method, str) else None
        if do is None:
            raise UsageError(
                f"`method` must be one of {', '.join(self._methods)}, got {str(method)[:40]!r}."
            )
        params, body = envelope.get("params") or {}, envelope.get("body") or {}
        if not isinstance(params, dict) or not isinstance(body, dict):
            raise UsageError("`params` and `body` must be objects.")
        return await do(_Call(request, params, body, user))

    @property
    def _methods(self) -> dict[str, Callable[[_Call], Awaitable[Response]]]:
        return {
            "info": self._call_info,
            "agent/run": self._call_run,
            "agent/connect": self._call_connect,
            "agent/stop": self._call_stop,
        }

    async def _call_info(self, _: _Call) -> Response:
        return _json(self._agents.info())

    async def _call_run(self, call: _Call) -> Response:
        return await self.run(call.request, call.parameter("agentId"), call.body, call.user)

    async def _call_connect(self, call: _Call) -> Response:
        return await self.connect(call.request, call.parameter("agentId"), call.body, call.user)

    async def _call_stop(self, call: _Call) -> Response:
        agent, thread = call.parameter("agentId"), check_session(call.parameter("threadId"))
        told = await self.stop(caller_of(call.request), agent, thread, call.body, call.user)
        return _json(told)


class _Call(Struct, frozen=True):
    """An operation that is asked for at the base address."""

    request: Request
    params: Json
    body: Json
    user: str

    def parameter(self, name: str) -> str:
        """Return one of the parameters. Raise `UsageError` where it is missing."""
        found = self.params.get(name)
        if not isinstance(found, str) or not found:
            raise UsageError(f"`params.{name}` must be a non-empty string.")
        return found


def _stopped(result: CancelResult) -> Json:
    told: Json = {"stopped": result.found, **result.shown()}
    if result.found:
        told["interrupt"] = {
            "type": "RUN_ERROR",
            "message": "The run was stopped.",
            "code": "STOPPED",
        }
    return told


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
