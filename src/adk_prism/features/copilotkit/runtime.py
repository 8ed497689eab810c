"""CopilotKit's runtime wire, so that `<CopilotKit runtimeUrl="/api/copilotkit">` needs no Node server.

Follows what `@copilotkit/core` 1.74 sends and `@copilotkit/runtime` 1.74 answers in the mode `sse`: one
address for each operation, or all at the base address as `{method, params, body}`. Agents are the apps,
threads are ADK sessions. What CopilotKit's cloud adds (changing threads, memories, learning) is not offered,
and `/info` says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, Query, Request, Response
from msgspec import Raw, Struct, structs

from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import state_json
from adk_prism.errors import Gone, NotFound, UsageError
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import UPLOADED, Entry, Origin
from adk_prism.protocols.ag_ui import SPEC
from adk_prism.protocols.ag_ui.history import ThreadMessages
from adk_prism.protocols.ag_ui.requests import user_message
from adk_prism.protocols.ag_ui.routes import AgUiRoutes, capabilities
from adk_prism.protocols.contract import FileLinks, Format, FrameReader
from adk_prism.runs.chats import Chats, build_history, runs_of, stored_bytes
from adk_prism.runs.off_loop import call_sized
from adk_prism.runs.runs import CancelResult
from adk_prism.server import request_bodies
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Caller, caller_of, listed_user
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.problems import COPILOTKIT_PATH, TEXT_RESPONSES
from adk_prism.server.run_streams import json_list
from adk_prism.server.throttling import HeavyWork
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# The apps of a server as the agents of a CopilotKit runtime: their ids, and what `/info` says of them.
#
# A page that names no agent asks for `default`: the first app, unless one has that name.


DEFAULT = "default"


class RuntimeAgents:
    """The agents of one runtime."""

    def __init__(self, apps: Apps, *, suggests: bool) -> None:
        """`suggests`: whether `/suggest` is there, which `features/follow_ups` brings."""
        self._apps = apps
        self._suggests = suggests

    def app(self, agent: str) -> str:
        """Return the app that an agent's id names. Raise `NotFound`."""
        names = self._apps.names()
        if agent == DEFAULT and DEFAULT not in names and names:
            return names[0]
        name = request_bodies.check_app(agent)
        self._apps.check(name)
        return name

    def info(self) -> Json:
        """Return what the client reads first. No app is imported for it."""
        names = self._apps.names()
        listed = {name: self._described(name) for name in names}
        if names and DEFAULT not in listed:
            listed[DEFAULT] = {**listed[names[0]], "name": DEFAULT}
        endpoints = {"list": True, "inspect": True, "mutations": False, "realtimeMetadata": False}
        return {
            "version": VERSION,
            "mode": "sse",
            "agents": listed,
            "audioFileTranscriptionEnabled": False,
            "threadEndpoints": endpoints,
            "suggestions": self._suggests,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }

    def _described(self, name: str) -> Json:
        described: Json = {"name": name, "description": "", "className": "AdkAgent"}
        if self._apps.is_loaded(name):
            known = capabilities(self._apps, name)
            described |= {"description": known["identity"]["description"], "capabilities": known}
        return described


# ---------------------------------------------------------------------------
# Threads as CopilotKit's runtime gives them: a list, and the messages, events and state of one.
#
# A thread is an ADK session with runs in the log. Its id does not say whose it is or of which app:
# the caller sees its own, and the latest one counts.


MOST_LISTED = 200
"""Threads of one answer; the newest."""
MOST_EVENTS = 20_000
"""Events of one answer, the last ones: what an inspector shows."""
LONGEST_NAME = 120
"""Characters of a thread's name: two lines of a narrow list."""


def _add(found: deque[bytes], reader: FrameReader, entry: Entry) -> None:
    found.extend(payload.data for payload in reader.feed(entry))


class Threads:
    """The threads of one server."""

    def __init__(self, log: RunLog, chats: Chats, apps: Apps, heavy: HeavyWork) -> None:
        self._log = log
        self._apps = apps
        self._chats = chats
        self._heavy = heavy

    async def listed(self, app: str, user: str, limit: int) -> list[Json]:
        """Return threads, the one that was active last first; an empty app or user stands for all."""
        by_origin: dict[Origin, list[RunSummary]] = {}
        for summary in await self._log.list(app=app, user=user):
            by_origin.setdefault(summary.origin, []).append(summary)
        latest = sorted(by_origin.values(), key=lambda runs: runs[-1].started, reverse=True)
        shown: list[Json] = []
        for runs in latest:
            if len(shown) == min(limit, MOST_LISTED):
                break
            thread = await self._shown_thread(runs)
            shown += [thread] if thread is not None else []
        return shown

    async def _shown_thread(self, runs: Sequence[RunSummary]) -> Json | None:
        try:
            head = await self._chats.beginning(runs[0].run)
        except (NotFound, Gone):  # Deleted since it was listed.
            return None
        if UPLOADED.read(head):
            return None  # a recording, and no thread of this server
        first, last = runs[0], runs[-1]
        said = (user_message("", head, FileLinks()) or {}).get("content")
        return {
            "id": last.origin.session,
            "name": _short(said) or None,
            "agentId": last.origin.app,
            "organizationId": "",
            "createdById": last.origin.user,
            "archived": False,
            "createdAt": _written(first.started),
            "updatedAt": _written(last.ended or last.started),
            "lastRunAt": _written(last.started),
        }

    async def find(self, thread: str, app: str, user: str) -> Origin:
        """Return where a thread belongs; an empty app or user stands for all. Raise `NotFound`."""
        found = await self.search(thread, app, user)
        if found is None:
            raise NotFound(f"There is no thread {thread[:60]!r}.")
        return found

    async def search(self, thread: str, app: str, user: str) -> Origin | None:
        """Return where a thread belongs; None if there is none."""
        found = await self._log.list(app=app, user=user, session=thread)
        return found[-1].origin if found else None

    async def messages(self, caller: Caller, origin: Origin, format: Format) -> bytes:
        """Return the messages of a thread in the form of CopilotKit's runtime, as a JSON list.

        Raise `TooMany` or `Busy`.
        """
        history = ThreadMessages(format.options, format.complete)
        turns = await self._chats.turns(origin)
        size = stored_bytes(turns)
        async with self._heavy.slot(caller, size):
            await build_history(self._chats, turns, history)
            return await call_sized(size, lambda: json_list(map(_flat, history.messages())))

    async def events(self, caller: Caller, origin: Origin, format: Format) -> bytes:
        """Return the events of a thread's runs, as a JSON list: of the one that is on what is there.

        Raise `TooMany` or `Busy`.
        """
        found: deque[bytes] = deque(maxlen=MOST_EVENTS)
        turns = await self._chats.turns(origin)
        async with self._heavy.slot(caller, stored_bytes(turns)):
            for run in runs_of(turns):
                await self._chats.feed(run, partial(_add, found, format.reader()))
        return b"[%b]" % b",".join(found)

    async def state(self, origin: Origin) -> Mapping[str, Raw]:
        """Return the state of a thread, as clients see it. Raise `NotFound`."""
        return state_json(await self._apps.sessions(origin.app).state(origin))


def _flat(message: Json) -> Json:
    """Return a message whose calls are not wrapped in functions."""
    calls = message.get("toolCalls")
    if not calls:
        return message
    flat = [
        {"id": c["id"], "name": c["function"]["name"], "args": c["function"]["arguments"]}
        for c in calls
    ]
    return {**message, "toolCalls": flat}


def _written(seconds: float) -> str:
    """Return a time as JavaScript's `toISOString` writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _short(said: Any) -> str:
    if isinstance(said, list):
        said = " ".join(part.get("text", "") for part in said)
    return " ".join(str(said or "")[: LONGEST_NAME * 4].split())[:LONGEST_NAME]


# ---------------------------------------------------------------------------

Json = dict[str, Any]
_METHODS = ("info", "agent/run", "agent/connect", "agent/stop")
NamedUser = Annotated[str, Query(alias="userId")]
AgentId = Annotated[str, Query(alias="agentId")]


def routes(context: Context) -> APIRouter:
    """Return the router of the runtime."""
    router = APIRouter(
        prefix=COPILOTKIT_PATH,
        route_class=request_bodies.StrictRoute,
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
            route_class_override=request_bodies.AgentRoute,
        )
    router.post("/agent/{agent_id}/stop/{thread_id}")(runtime.stop)
    router.get("/threads")(runtime.threads)
    router.get("/threads/{thread_id}/messages", response_class=Response)(runtime.messages)
    router.get("/threads/{thread_id}/events", response_class=Response)(runtime.events)
    router.get("/threads/{thread_id}/state", response_class=Response)(runtime.state)
    return router


class _Runtime:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._ag_ui = AgUiRoutes(context)
        self._agents = RuntimeAgents(
            context.apps, suggests="follow_ups" not in context.settings.without
        )
        self._threads = Threads(context.log, context.chats, context.apps, context.limits.heavy)

    # -------------------------------------------------------------- agents

    async def info(self) -> Json:
        """Return the agents of this runtime, and what it can do."""
        return self._agents.info()

    async def run(
        self, request: Request, agent_id: str, body: Json, user: NamedUser = ""
    ) -> Response:
        """Run an agent on a `RunAgentInput`, and stream its events."""
        return await self._ag_ui.run(request, self._agents.app(agent_id), body, user)

    async def connect(
        self, request: Request, agent_id: str, body: Json, user: NamedUser = ""
    ) -> Response:
        """Stream a thread's past, and the run that is on."""
        return await self._ag_ui.connect(request, self._agents.app(agent_id), body, user)

    async def stop(
        self,
        caller: CallerOf,
        agent_id: str,
        thread_id: request_bodies.SessionId,
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
        return _stopped(await self._ag_ui.stop_run(structs.replace(found, app=app), run or ""))

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
        self,
        request: Request,
        thread_id: request_bodies.SessionId,
        agent_id: AgentId = "",
        user: NamedUser = "",
    ) -> Response:
        """Return the messages of a thread, without those that are still being said."""
        origin = await self._origin(request, thread_id, agent_id, user)
        format = self._context.streams.format(request, SPEC)
        found = await self._threads.messages(caller_of(request), origin, format)
        return _json({"messages": Raw(found)})

    async def events(
        self,
        request: Request,
        thread_id: request_bodies.SessionId,
        agent_id: AgentId = "",
        user: NamedUser = "",
    ) -> Response:
        """Return the events of a thread's runs."""
        origin = await self._origin(request, thread_id, agent_id, user)
        format = self._context.streams.format(request, SPEC)
        found = await self._threads.events(caller_of(request), origin, format)
        return _json({"events": Raw(found)})

    async def state(
        self,
        request: Request,
        thread_id: request_bodies.SessionId,
        agent_id: AgentId = "",
        user: NamedUser = "",
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
        if method not in _METHODS:
            known = ", ".join(_METHODS)
            raise UsageError(f"`method` must be one of {known}, got {str(method)[:40]!r}.")
        params, body = envelope.get("params") or {}, envelope.get("body") or {}
        if not isinstance(params, dict) or not isinstance(body, dict):
            raise UsageError("`params` and `body` must be objects.")
        call = _Call(request, params, body, user)
        if method == "info":
            return _json(self._agents.info())
        if method == "agent/stop":
            return await self._stop(call)
        do = self.run if method == "agent/run" else self.connect
        return await do(request, call.parameter("agentId"), body, user)

    async def _stop(self, call: _Call) -> Response:
        agent, thread = (
            call.parameter("agentId"),
            request_bodies.check_session(call.parameter("threadId")),
        )
        user = caller_of(call.request)
        return _json(await self.stop(user, agent, thread, call.body, call.user))


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
    answer: Json = {"stopped": result.found, **result.shown()}
    if result.found:
        answer["interrupt"] = {
            "type": "RUN_ERROR",
            "message": "The run was stopped.",
            "code": "STOPPED",
        }
    return answer


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
