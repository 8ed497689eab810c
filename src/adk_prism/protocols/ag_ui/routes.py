"""AG-UI's routes: what `HttpAgent` posts to, and what goes beyond it.

`HttpAgent` has one URL, and each request is a run. Coming back to a thread, stopping, capabilities and going
on after a lost connection (`Last-Event-ID`) are ours: the protocol names them, and fixes no address.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, Header, Query, Request, Response
from msgspec import UNSET, Raw, structs
from starlette.exceptions import HTTPException

from adk_prism import errors
from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import state_json
from adk_prism.commands import DEFAULT_USER
from adk_prism.log.entry import CLIENT_RUN, Origin, RunId
from adk_prism.protocols.ag_ui import SPEC
from adk_prism.protocols.ag_ui import frames as ag_ui
from adk_prism.protocols.ag_ui.history import ThreadMessages
from adk_prism.protocols.ag_ui.requests import read_request, run_id
from adk_prism.protocols.contract import Format, Payload
from adk_prism.runs import chats as threads
from adk_prism.runs.broadcast import Broadcaster, Viewer
from adk_prism.runs.off_loop import call_sized
from adk_prism.runs.runs import CancelResult
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server import request_bodies as bodies
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.identity.identity import QueryUser, seen_position
from adk_prism.server.problems import AG_UI_PATH, TEXT_RESPONSES, TYPE_HEADER
from adk_prism.server.run_starter import Key, read_sent
from adk_prism.server.run_streams import HEADERS, json_list
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# What a client that comes back to a thread is sent of its past.
#
# One run that gives state and messages as snapshots, and ends as the last run did: with its
# interrupts, or its error. A snapshot takes the place of what the client still shows; events of the
# past would be added to messages of the same id. It is also much smaller than they are. Only a thread
# that does not fit one event is sent run by run, after an empty snapshot.


Past = tuple[Sequence[Payload], Sequence[RunId]]
"""What is sent of a thread: frames, then runs."""


async def thread_past(
    chats: threads.Chats, apps: Apps, origin: Origin, turns: Sequence[threads.Turn], format: Format
) -> Past:
    """Return what to send of a thread with these turns; nothing of a new one."""
    places = [threads.without_held_runs(place) for place in threads.shown(turns)]
    if not places:
        return (), ()
    version = ag_ui.DIALECTS[format.options.dialect].protocol_version
    begin = ag_ui.RunStarted(origin.session, f"{origin.session}-connect", version or UNSET)
    on = [place for place in places if place.turn.resumable]
    history = ThreadMessages(format.options, format.complete)
    await threads.build_history(chats, turns, history)
    messages, size = await call_sized(threads.stored_bytes(turns), _written, history)
    state = await _state(apps, origin)
    if not ag_ui.fits(size) or not ag_ui.fits(len(bytes(state))):
        return _as_run(begin, ag_ui.MessagesSnapshot([])), _runs(places)
    over = [run for place in places for run in place.turn.runs if run.summary.outcome is not None]
    snapshots: list[ag_ui.Frame] = [ag_ui.StateSnapshot(state), ag_ui.MessagesSnapshot(messages)]
    if on or not over:
        return _as_run(begin, *snapshots), _runs(on)
    begin = structs.replace(begin, run_id=run_id(over[-1].head))
    if over[-1].summary.outcome == "cancelled":
        return _as_run(begin, *snapshots), ()  # the error was sent before
    end = await _end_of(chats, over[-1], format)
    return [SPEC.payload(begin), *map(SPEC.payload, snapshots), *end], ()


def _written(history: ThreadMessages) -> tuple[list[Json], int]:
    """Return the messages of a thread and the bytes of their JSON."""
    messages = history.messages()
    return messages, len(json_list(messages))


def _runs(places: Sequence[threads.Shown]) -> list[RunId]:
    return [run.summary.run for place in places for run in place.turn.runs]


async def _state(apps: Apps, origin: Origin) -> Raw:
    try:
        state = await apps.sessions(origin.app).state(origin)
    except errors.NotFound:  # the log has runs of a session that is gone
        state = {}
    return Raw(msgspec.json.encode(state_json(state)))


def _as_run(begin: ag_ui.RunStarted, *frames: ag_ui.Frame) -> list[Payload]:
    """Return frames as a run of their own."""
    end = ag_ui.RunFinished(begin.thread_id, begin.run_id, {"type": "success"})
    return [SPEC.payload(frame) for frame in (begin, *frames, end)]


async def _end_of(chats: threads.Chats, run: threads.ChatRun, format: Format) -> list[Payload]:
    """Return the last event of a run."""
    reader, last = format.reader(), list[Payload]()
    async for entry in chats.entries(run.summary.run):
        last = reader.feed(entry)[-1:] or last
    return last


# ---------------------------------------------------------------------------
# A whole thread as one stream: its past, then the run that is on, each with its own start and end.
#
# For a client that comes back to a thread. What it is sent first is decided in `thread_past`.


@dataclass(eq=False)
class ThreadStream:
    """Views of runs, each opened when the one before is over."""

    broadcaster: Broadcaster
    format: Format
    first: Sequence[Payload]
    """Frames of no run, so without a position."""
    runs: Sequence[RunId]
    left: bool = False
    """Somebody ended the view before the thread was over."""
    _view: Viewer | None = None

    def leave(self) -> None:
        """End the view from outside."""
        self.left = True
        if self._view is not None:
            self._view.leave()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the thread's bytes."""
        yield b": connected\n\n" + b"".join(
            b"data: %s\n\n" % payload.data for payload in self.first
        )
        for run in self.runs:
            if self.left:
                return
            self._view = await self.broadcaster.open(run, self.format)
            async with aclosing(self._view.chunks()) as chunks:
                async for data in chunks:
                    yield data
            if self._view.left:
                self.left = True


# ---------------------------------------------------------------------------
# What AG-UI clients do with an agent: run it, come back to a thread, stop it.
#
# A thread is an ADK session, made with its first message. Whoever asks twice under one `runId` gets one
# run.

Json = dict[str, Any]


Dialect = Annotated[str, Query(description="AG-UI version: 0.0.59 or 1.0; the input's by default")]
LastSeen = Annotated[str, Header(alias="Last-Event-ID")]
NamedUser = Annotated[str, Query(alias="userId")]


class AgUiRoutes:
    """The routes of AG-UI."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def router(self) -> APIRouter:
        """Return the router of AG-UI."""
        router = APIRouter(
            prefix=AG_UI_PATH,
            route_class=bodies.StrictRoute,
            tags=["AG-UI"],
            responses=TEXT_RESPONSES,
        )
        nothing: dict[int | str, dict[str, Any]] = {204: {"description": "The run is over"}}
        for path, route in (("/{app_name}", self.run), ("/{app_name}/connect", self.connect)):
            router.add_api_route(
                path,
                route,
                methods=["POST"],
                response_class=Response,
                responses=nothing,
                route_class_override=bodies.AgentRoute,
            )
        router.get("/{app_name}/capabilities")(self.capabilities)
        router.post("/{app_name}/{thread_id}/stop")(self.stop)
        return router

    async def run(
        self,
        request: Request,
        app_name: bodies.AppName,
        body: Json,
        user: NamedUser = "",
        dialect: Dialect = "",
        key: Key = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Run the agent on a `RunAgentInput` and stream its events; or go on after `Last-Event-ID`.

        What the conversation does not allow is a stream of one RUN_ERROR.
        """
        context, format = self._context, self._format(request, body, dialect)
        if last_event_id:
            caller = caller_of(request)
            run, after = await seen_position(context.log, caller, app_name, last_event_id)
            return await context.streams.start(run, format, after)
        read = read_request(body)
        if user:
            read = structs.replace(read, user=user)
        sent = await read_sent(request, key, format.options.files.base)
        try:
            run = await context.starter.start(SPEC, app_name, read, sent)
        except _REFUSED as error:
            return _refusal(error)
        return await context.streams.start(run, format)

    async def connect(
        self,
        request: Request,
        app_name: bodies.AppName,
        body: Json,
        user: NamedUser = "",
        dialect: Dialect = "",
    ) -> Response:
        """Stream a thread's past, and the run that is on; nothing of a new thread."""
        context, format = self._context, self._format(request, body, dialect)
        thread, caller = body.get("threadId"), caller_of(request)
        if not isinstance(thread, str):
            raise errors.Unprocessable("`threadId` must be a non-empty string.")
        context.apps.check(app_name)
        named = spoken_user(caller, bodies.check_user(user or _named_user(body) or DEFAULT_USER))
        origin = Origin(app=app_name, user=named, session=bodies.check_session(thread))
        turns = await context.chats.turns(origin)
        async with context.limits.heavy.slot(caller, threads.stored_bytes(turns)):
            past = await thread_past(context.chats, context.apps, origin, turns, format)
        view = ThreadStream(context.streams.broadcaster, format, *past)
        return context.streams.response(view, format)

    async def capabilities(self, app_name: bodies.AppName) -> dict[str, Any]:
        """Return what the agent can do, as AG-UI's `AgentCapabilities`."""
        await self._context.apps.open(app_name)
        return capabilities(self._context.apps, app_name)

    async def stop(
        self,
        app_name: bodies.AppName,
        thread_id: bodies.SessionId,
        user: QueryUser,
        body: Annotated[dict[str, Any] | None, Body()] = None,
    ) -> dict[str, Any]:
        """Stop the run of a thread, or only the run `runId` of the body; repeating it is no error."""
        run = (body or {}).get("runId")
        origin = Origin(app=app_name, user=user, session=thread_id)
        stopped = await self.stop_run(origin, run if isinstance(run, str) else "")
        return {"stopped": stopped.found, **stopped.shown()}

    async def stop_run(self, origin: Origin, run: str = "") -> CancelResult:
        """Stop the run of a thread; with a client's run id, only that one."""
        self._context.apps.check(origin.app)
        if run and not await self._is_on(origin, run):
            return CancelResult(False, [])
        stopped = await self._context.runs.canceller.stop(origin)
        if stopped.found:
            await self._context.audit.note(AuditedAction(action="run cancelled", origin=origin))
        return stopped

    async def _is_on(self, origin: Origin, run: str) -> bool:
        turns = await self._context.chats.turns(origin)
        active = (each for turn in turns for each in turn.runs if each.summary.outcome is None)
        return any(run in (CLIENT_RUN.read(each.head), each.summary.run) for each in active)

    def _format(self, request: Request, body: Json, dialect: str) -> Format:
        """Return AG-UI as a request's client gets it. Raise `UsageError` for an unknown dialect."""
        _check_encoding(request)
        return self._context.streams.format(request, SPEC, dialect or _dialect_of(body))


def _named_user(body: Json) -> str:
    """Return the user that the properties of an input name."""
    props = body.get("forwardedProps")
    named = props.get("userId") if isinstance(props, dict) else None
    return named if isinstance(named, str) else ""


_REFUSED = (errors.Conflict, errors.Unprocessable)
"""What becomes a RUN_ERROR."""

_CODES: dict[type[errors.UsageError], str] = {
    errors.QuestionsOpen: "INTERRUPT_OPEN",
    errors.Expired: "INTERRUPT_EXPIRED",
    errors.StaleConversation: "STALE_CONVERSATION",
    errors.Conflict: "CONFLICT",
    errors.Unprocessable: "INVALID_INPUT",
}


def _refusal(error: errors.UsageError) -> Response:
    """Return the stream of one RUN_ERROR that refuses a request which the conversation does not allow.

    Clients show the message of a RUN_ERROR, and of an HTTP error they show the raw body. So what a person
    can cause in a page (a new message while a question is open, an answer that came too late) is a run that
    failed at once. Nothing of it is in the log. What a program did wrong (a body that is no input, an unknown
    app) stays an HTTP problem.
    """
    code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
    data = SPEC.payload(ag_ui.RunError(error.detail, code)).data
    return Response(b"data: " + data + b"\n\n", headers={**HEADERS, TYPE_HEADER: error.kind})


_PROTOBUF = "application/vnd.ag-ui.event+proto"
_SSE = "text/event-stream"

_VERSION = re.compile(r"(\d{1,4})(?:\.\d{1,4}){0,2}(?:[-+].{0,40})?")
_BY_MAJOR = {"0": ag_ui.DEFAULT, "1": "1.0"}


def _dialect_of(body: Json) -> str:
    """Return the dialect that an input is in. Raise `Unprocessable`."""
    version = body.get("protocolVersion")
    if version is None:
        return ag_ui.DEFAULT  # clients before 1.0 do not say
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    found = _BY_MAJOR.get(match[1]) if match is not None else None
    if found is None:
        raise errors.Unprocessable(
            f"`protocolVersion` {str(version)[:40]!r} is not spoken here; expected 1.0, or none for clients "
            "before 1.0. `?dialect=` overrides it."
        )
    return found


def _check_encoding(request: Request) -> None:
    """Raise a 406 for a client that reads nothing but protobuf."""
    accepted = [
        each.partition(";")[0].strip().lower()
        for value in request.headers.getlist("accept")
        for each in value.split(",")
    ]
    if _PROTOBUF in accepted and not {_SSE, "text/*", "*/*"} & set(accepted):
        raise HTTPException(406, f"Events are sent as {_SSE} only; {_PROTOBUF} is not offered.")


# ---------------------------------------------------------------------------
# What an app can do, as AG-UI's `AgentCapabilities` (1.0) says it.
#
# Only what is known: a capability that depends on the model is left out.


def capabilities(apps: Apps, app: str) -> Json:
    """Return the capabilities of a loaded app."""
    served, agents = apps.app(app), apps.agents(app)
    others = [{"name": agent.name} for agent in agents if agent.name != served.root_name]
    return {
        "identity": {
            "name": app,
            "type": "google-adk",
            "description": served.description or "",
            "version": VERSION,
        },
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "resumable": True,
        },
        "tools": {
            "supported": any(agent.tools for agent in agents),
            "clientProvided": "client tools" not in served.lacks,
        },
        "state": {
            "snapshots": True,
            "deltas": True,
            "memory": apps.memory_service(app) is not None,
            "persistentState": True,
        },
        "multiAgent": {"supported": bool(others), "subagents": others},
        "humanInTheLoop": {
            "supported": True,
            "approvals": True,
            "interrupts": True,
            "approveWithEdits": False,
        },
    }
