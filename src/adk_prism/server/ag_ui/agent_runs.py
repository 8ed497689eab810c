"""What AG-UI clients do with an agent: run it, come back to a thread, stop it.

A thread is an ADK session, made with its first message. Whoever asks twice under one `runId` gets one run.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import Request, Response
from msgspec import Struct, structs
from starlette.exceptions import HTTPException

from adk_prism.commands import DEFAULT_USER
from adk_prism.errors import (
    Conflict,
    Expired,
    QuestionsOpen,
    StaleConversation,
    Unprocessable,
    UsageError,
)
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.cancellation import CancelResult
from adk_prism.pipeline.turns import stored_bytes
from adk_prism.projection.ag_ui import SPEC
from adk_prism.projection.ag_ui.dialects import DEFAULT
from adk_prism.projection.ag_ui.frames import RunError
from adk_prism.projection.ag_ui.requests import read_request
from adk_prism.projection.contract import Format
from adk_prism.runlog.entry import (
    Origin,
)
from adk_prism.server.ag_ui.thread_past import thread_past
from adk_prism.server.ag_ui.thread_stream import ThreadStream
from adk_prism.server.context import Context
from adk_prism.server.event_stream import HEADERS
from adk_prism.server.guards.name_rules import check_session, check_user
from adk_prism.server.guards.strict_body import StrictRequest
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.identity.parameters import seen_position
from adk_prism.server.problems import TYPE_HEADER
from adk_prism.server.run_starter import Sent

Json = dict[str, Any]


class Asked(Struct, frozen=True):
    """A request of an AG-UI client."""

    request: Request
    app: str
    body: Json
    user: str
    """Who the query says; empty if it does not."""
    dialect: str = ""
    key: str = ""
    """Its `Idempotency-Key`; empty: the `runId` of the body."""


class AgentRuns:
    """Runs of a server's apps, for AG-UI clients."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self, asked: Asked) -> Response:
        """Start the run that an input asks for, and stream it."""
        format = self._format(asked)
        read = read_request(asked.body)
        if asked.user:
            read = structs.replace(read, user=asked.user)
        request = asked.request
        sent = Sent(
            caller=caller_of(request),
            key=asked.key,
            body=await request.body(),
            digest=request.digest if isinstance(request, StrictRequest) else "",
            base=format.options.files.base,
        )
        try:
            run = await self._context.starter.start(SPEC, asked.app, read, sent)
        except _REFUSED as error:
            return _refusal(error)
        return await self._context.streams.start(run, format)

    async def go_on(self, asked: Asked, last: str) -> Response:
        """Stream a run after a position that the client has seen; 204 after its end."""
        format, caller = self._format(asked), caller_of(asked.request)
        run, after = await seen_position(self._context.log, caller, asked.app, last)
        return await self._context.streams.start(run, format, after)

    async def connect(self, asked: Asked) -> Response:
        """Stream a thread: its past runs, and the one that is on until it is over."""
        format, thread = self._format(asked), asked.body.get("threadId")
        if not isinstance(thread, str):
            raise Unprocessable("`threadId` must be a non-empty string.")
        self._context.apps.check(asked.app)
        origin = Origin(app=asked.app, user=_user_of(asked), session=check_session(thread))
        turns = await self._context.chats.turns(origin)
        async with self._context.heavy.slot(caller_of(asked.request), stored_bytes(turns)):
            chats, apps = self._context.chats, self._context.apps
            past = await thread_past(chats, apps, origin, turns, format)
        view = ThreadStream(self._context.broadcaster, format, past.frames, past.runs)
        return self._context.streams.response(view, format)

    async def stop(self, app: str, user: str, thread: str, run: str = "") -> CancelResult:
        """Stop the run of a thread; with a client's run id, only that one."""
        self._context.apps.check(app)
        origin = Origin(app=app, user=user, session=thread)
        if run and not await self._is_on(origin, run):
            return CancelResult(False, [])
        stopped = await self._context.canceller.stop(origin)
        if stopped.found:
            await self._context.audit.note(AuditedAction(action="run cancelled", origin=origin))
        return stopped

    async def _is_on(self, origin: Origin, run: str) -> bool:
        turns = await self._context.chats.turns(origin)
        active = (each for turn in turns for each in turn.runs if each.summary.outcome is None)
        return any(run in (each.head.client_run, each.summary.run) for each in active)

    def _format(self, asked: Asked) -> Format:
        _check_encoding(asked.request)
        return self.format(asked.request, _dialect_of(asked.body, asked.dialect))

    def format(self, request: Request, dialect: str) -> Format:
        """Return AG-UI as a request's client gets it. Raise `UsageError` for an unknown dialect."""
        return self._context.streams.format(request, SPEC, dialect)


def _user_of(asked: Asked) -> str:
    """Return the user of a request that may name one in its query or its properties."""
    props = asked.body.get("forwardedProps")
    named = props.get("userId") if isinstance(props, dict) else None
    given = asked.user or (named if isinstance(named, str) else "") or DEFAULT_USER
    return spoken_user(caller_of(asked.request), check_user(given))


_REFUSED = (Conflict, Unprocessable)
"""What becomes a RUN_ERROR."""

_CODES: dict[type[UsageError], str] = {
    QuestionsOpen: "INTERRUPT_OPEN",
    Expired: "INTERRUPT_EXPIRED",
    StaleConversation: "STALE_CONVERSATION",
    Conflict: "CONFLICT",
    Unprocessable: "INVALID_INPUT",
}


def _refusal(error: UsageError) -> Response:
    """Return the stream of one RUN_ERROR that refuses a request which the conversation does not allow.

    Clients show the message of a RUN_ERROR, and of an HTTP error they show the raw body. So what a person
    can cause in a page (a new message while a question is open, an answer that came too late) is a run that
    failed at once. Nothing of it is in the log. What a program did wrong (a body that is no input, an unknown
    app) stays an HTTP problem.
    """
    code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
    data = SPEC.payload(RunError(error.detail, code)).data
    return Response(b"data: " + data + b"\n\n", headers={**HEADERS, TYPE_HEADER: error.kind})


_PROTOBUF = "application/vnd.ag-ui.event+proto"
_SSE = "text/event-stream"

_VERSION = re.compile(r"(\d{1,4})(?:\.\d{1,4}){0,2}(?:[-+].{0,40})?")
_BY_MAJOR = {"0": DEFAULT, "1": "1.0"}


def _dialect_of(body: dict[str, Any], asked: str) -> str:
    """Return the dialect that a request asks for, or that its input is in. Raise `Unprocessable`."""
    if asked:
        return asked
    version = body.get("protocolVersion")
    if version is None:
        return DEFAULT  # clients before 1.0 do not say
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    found = _BY_MAJOR.get(match[1]) if match is not None else None
    if found is None:
        raise Unprocessable(
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
