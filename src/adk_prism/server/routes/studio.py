"""The Studio's routes: runs as SSE Schema v2, and the app as a graph.

A run is started by POST, or by GET for `EventSource`, which sends a GET again and again until it is
told 204. So:
- a request with `Last-Event-ID` goes on with the run that it names, and never starts another;
- one that has seen the run's end gets 204;
- a GET with `key` starts one run, however often it comes before the first event did;
- a GET from another site's page is refused (`cross_site`).
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response

from adk_prism.errors import BadPosition, UsageError
from adk_prism.pipeline.broadcast import StreamKey
from adk_prism.pipeline.conversation import Start
from adk_prism.projection.ai_sdk.requests import Continuation, NewMessage, ToolAnswer
from adk_prism.projection.registry import protocol
from adk_prism.projection.studio.requests import StudioRequest, read_request
from adk_prism.runlog.entry import (
    BEGINNING,
    NOTHING,
    Decision,
    Origin,
    Position,
    RunId,
    parse_position,
    run_of_position,
    to_raw,
)
from adk_prism.server.context import Context
from adk_prism.server.event_stream import EventStream
from adk_prism.server.guards.cross_site import refuse_cross_site
from adk_prism.server.guards.name_rules import AppName, check_session, check_user
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.identity.parameters import check_run
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.server.routes.run import RUN_HEADER, Key

LastSeen = Annotated[str, Header(alias="Last-Event-ID")]


def routes(context: Context) -> APIRouter:
    """Return the router of the Studio."""
    router = APIRouter(prefix="/api/studio", route_class=StrictRoute, tags=["Studio"])
    studio = _StudioRoutes(context)
    router.get("/{app_name}/stream", response_class=Response)(studio.get)
    router.post("/{app_name}/stream", response_class=Response)(studio.post)
    router.get("/{app_name}/graph")(studio.graph)
    return router


class _StudioRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._spec = protocol("studio")

    async def get(
        self,
        request: Request,
        app_name: AppName,
        input: str = "",
        session_id: str = "",
        user_id: str = "",
        key: Annotated[str, Query(description="Idempotency key")] = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Say something and stream the run, or go on with one after `Last-Event-ID`."""
        refuse_cross_site(request)
        if "\0" in input:
            raise UsageError("`input` contains a NUL character, which cannot be stored.")
        body = {"input": input, "session_id": session_id, "user_id": user_id}
        return await self._answer(request, app_name, body, key, last_event_id)

    async def post(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        key: Key = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Say something, or answer, and stream the run; or go on with one after `Last-Event-ID`."""
        return await self._answer(request, app_name, body, key, last_event_id)

    async def graph(self, app_name: AppName) -> Response:
        """Return the app's agents, tools and workflow nodes, and the edges between them."""
        await self._context.apps.load(app_name)
        graph = self._context.apps.graph(app_name)
        return Response(msgspec.json.encode(graph), media_type="application/json")

    async def _answer(
        self, request: Request, app: str, body: dict[str, Any], key: str, last: str
    ) -> Response:
        self._context.apps.check(app)
        if last:
            return await self._go_on(request, app, last)
        await self._context.apps.load(app)
        asked = read_request(body)
        user = spoken_user(caller_of(request), check_user(asked.user))
        origin = Origin(app=app, user=user, session=_session(asked))
        run = await self._begin(origin, asked, key, msgspec.json.encode(body))
        return await self._stream(request, run, BEGINNING)

    async def _go_on(self, request: Request, app: str, last: str) -> Response:
        run = run_of_position(last)
        summary = await check_run(self._context.log, caller_of(request), run)
        if summary.origin.app != app:
            raise BadPosition(f"Position {last[:60]!r} belongs to another app.")
        return await self._stream(request, run, parse_position(last))

    async def _stream(self, request: Request, run: RunId, after: Position) -> Response:
        errors = self._context.errors
        spec = errors.spec(request.scope, self._spec)
        stream = StreamKey(run, "studio", errors.variant(request.scope), named=spec.named)
        view = await self._context.broadcaster.open(stream, spec, after)
        if view.nothing_left:
            return Response(status_code=204)
        return EventStream(view, spec, self._context, {RUN_HEADER: run})

    async def _begin(self, origin: Origin, asked: StudioRequest, key: str, body: bytes) -> RunId:
        async def begin(run: RunId | None, digest: str) -> RunId:
            policy = self._context.settings.chat_busy
            start = Start(origin=origin, policy=policy, by=called_by(), run=run, digest=digest)
            if asked.approvals or asked.outputs:
                return await self._context.conversations.answer(start, _answers(asked))
            return await self._context.conversations.submit(start, _message(asked))

        scope = f"studio {origin.app} {origin.user} {asked.session}"
        return await self._context.idempotency.once(key, scope, body, begin)


def _session(asked: StudioRequest) -> str:
    return check_session(asked.session) if asked.session else f"studio-{uuid4()}"


def _message(asked: StudioRequest) -> NewMessage:
    parts = [{"text": asked.input}] if asked.input else []
    content = to_raw({"role": "user", "parts": parts})
    return NewMessage(message_id="", content=content, text=asked.input, responses=asked.results)


def _answers(asked: StudioRequest) -> Continuation:
    decisions = [
        ToolAnswer(
            call=given.call,
            input=NOTHING,
            decision=Decision(
                approval=given.id,
                approved=given.approved,
                reason=given.reason,
                payload=given.payload,
            ),
        )
        for given in asked.approvals
    ]
    outputs = [
        ToolAnswer(call=call, input=NOTHING, output=result)
        for call, result in asked.outputs.items()
    ]
    return Continuation(message_id="", answers=[*decisions, *outputs])
