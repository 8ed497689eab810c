"""What AG-UI clients do with an agent: run it, come back to a thread, stop it.

A thread is an ADK session, made with its first message. Whoever asks twice under one `runId` gets one run.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from msgspec import Struct, structs

from adk_prism.commands import DEFAULT_USER
from adk_prism.errors import BadPosition, Unprocessable
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.cancellation import CancelResult
from adk_prism.projection.ag_ui import SPEC
from adk_prism.projection.ag_ui.requests import read_request
from adk_prism.projection.contract import Format
from adk_prism.runlog.entry import (
    BEGINNING,
    Origin,
    Position,
    RunId,
    parse_position,
    run_of_position,
)
from adk_prism.server.ag_ui.negotiation import check_encoding, dialect_of
from adk_prism.server.ag_ui.refusal import REFUSED, refusal
from adk_prism.server.ag_ui.thread_past import thread_past
from adk_prism.server.ag_ui.thread_stream import ThreadStream
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import check_session, check_user
from adk_prism.server.guards.strict_body import StrictRequest
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.identity.parameters import check_run
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
        except REFUSED as error:
            return refusal(error)
        return await self._stream(run, format, BEGINNING)

    async def go_on(self, asked: Asked, last: str) -> Response:
        """Stream a run after a position that the client has seen; 204 after its end."""
        format, run = self._format(asked), run_of_position(last)
        summary = await check_run(self._context.log, caller_of(asked.request), run)
        if summary.origin.app != asked.app:
            raise BadPosition(f"Position {last[:60]!r} belongs to another app.")
        return await self._stream(run, format, parse_position(last))

    async def connect(self, asked: Asked) -> Response:
        """Stream a thread: its past runs, and the one that is on until it is over."""
        format, thread = self._format(asked), asked.body.get("threadId")
        if not isinstance(thread, str):
            raise Unprocessable("`threadId` must be a non-empty string.")
        self._context.apps.check(asked.app)
        origin = Origin(app=asked.app, user=_user_of(asked), session=check_session(thread))
        past = await thread_past(self._context.chats, self._context.apps, origin, format)
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
        check_encoding(asked.request)
        return self.format(asked.request, dialect_of(asked.body, asked.dialect))

    def format(self, request: Request, dialect: str) -> Format:
        """Return AG-UI as a request's client gets it. Raise `UsageError` for an unknown dialect."""
        return self._context.streams.format(request, SPEC, dialect)

    async def _stream(self, run: RunId, format: Format, after: Position) -> Response:
        view = await self._context.streams.view(run, format, after)
        if view.nothing_left:
            return Response(status_code=204)
        return self._context.streams.response(view, format, run)


def _user_of(asked: Asked) -> str:
    """Return the user of a request that may name one in its query or its properties."""
    props = asked.body.get("forwardedProps")
    named = props.get("userId") if isinstance(props, dict) else None
    given = asked.user or (named if isinstance(named, str) else "") or DEFAULT_USER
    return spoken_user(caller_of(asked.request), check_user(given))
