"""The AI SDK's routes: what `useChat` posts to, resumes from and loads its history from.

Follows `DefaultChatTransport` of ai 5, 6 and 7. The chat's id is the session's, made on demand.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response

from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.message_stream import build_history, open_message, running
from adk_prism.projection.ai_sdk import SPEC
from adk_prism.projection.ai_sdk.history import UiMessages
from adk_prism.projection.ai_sdk.requests import read_request
from adk_prism.projection.contract import Format
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.entry import Origin
from adk_prism.server.base_url import base_url
from adk_prism.server.context import Context
from adk_prism.server.event_stream import EventStream
from adk_prism.server.guards.chat_body import ChatRoute
from adk_prism.server.guards.name_rules import AppName, SessionId
from adk_prism.server.guards.strict_body import StrictRequest, StrictRoute
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.identity.parameters import QueryUser
from adk_prism.server.problem_format import CHAT_PATH, TEXT_RESPONSES
from adk_prism.server.routes.run import RUN_HEADER, Key
from adk_prism.server.run_starter import Sent

Dialect = Annotated[str, Query(description="AI SDK version: 5, 6 or 7")]


def routes(context: Context) -> APIRouter:
    """Return the router of chats."""
    router = APIRouter(
        prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=TEXT_RESPONSES
    )
    chat = _ChatRoutes(context)
    router.add_api_route(
        "/{app_name}",
        chat.post,
        methods=["POST"],
        response_class=Response,
        route_class_override=ChatRoute,
    )
    nothing: dict[int | str, dict[str, Any]] = {204: {"description": "Nothing runs"}}
    router.get("/{app_name}/{chat_id}/stream", response_class=Response, responses=nothing)(
        chat.resume
    )
    router.get("/{app_name}/{chat_id}/messages")(chat.messages)
    router.post("/{app_name}/{chat_id}/stop", status_code=200)(chat.stop)
    return router


class _ChatRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def post(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        dialect: Dialect = "",
        key: Key = "",
    ) -> Response:
        """Send a message, answer, or regenerate; stream the assistant's message."""
        format = self._format(request, dialect)
        sent = Sent(
            caller=caller_of(request),
            key=key,
            body=await request.body(),
            digest=request.digest if isinstance(request, StrictRequest) else "",
            base=format.options.files.base,
        )
        run = await self._context.starter.start(SPEC, app_name, read_request(body), sent)
        view = await self._context.broadcaster.open(run, format)
        return EventStream(view, SPEC, self._context, {RUN_HEADER: run})

    def _format(self, request: Request, dialect: str) -> Format:
        files = FileLinks(base_url(request, self._context.settings))
        complete = self._context.errors.completion(request.scope)
        return SPEC.format(dialect, files, complete=complete)

    async def resume(
        self,
        request: Request,
        app_name: AppName,
        chat_id: SessionId,
        user: QueryUser,
        dialect: Dialect = "",
    ) -> Response:
        """Stream the message that is running, from its beginning; 204 when nothing runs."""
        format = self._format(request, dialect)
        self._context.apps.check(app_name)
        origin = Origin(app=app_name, user=user, session=chat_id)
        place = running(await self._context.chats.turns(origin))
        if place is None:
            return Response(status_code=204)
        view = await open_message(self._context.broadcaster, place, format)
        headers = {RUN_HEADER: place.turn.last.summary.run}
        return EventStream(view, SPEC, self._context, headers)

    async def messages(
        self,
        request: Request,
        app_name: AppName,
        chat_id: SessionId,
        user: QueryUser,
        dialect: Dialect = "",
    ) -> Response:
        """Return the chat's UI messages, without the one that is still streaming; none of a new chat."""
        format = self._format(request, dialect)
        self._context.apps.check(app_name)
        origin = Origin(app=app_name, user=user, session=chat_id)
        turns = await self._context.chats.turns(origin)
        history = UiMessages(format.options, format.complete)
        await build_history(self._context.chats, turns, history)
        return Response(msgspec.json.encode(history.messages()), media_type="application/json")

    async def stop(self, app_name: AppName, chat_id: SessionId, user: QueryUser) -> dict[str, Any]:
        """Stop the run of a chat; repeating it, or stopping nothing, is no error.

        The answer does not wait for tools that ignore it: `toolRunning` tells whether one is still at work
        (null: not known here), `runningTools` which.
        """
        self._context.apps.check(app_name)
        origin = Origin(app=app_name, user=user, session=chat_id)
        stopped = await self._context.canceller.stop(origin)
        if stopped.found:
            await self._context.audit.note(AuditedAction(action="run cancelled", origin=origin))
        return {"stopped": stopped.found, **stopped.shown()}
