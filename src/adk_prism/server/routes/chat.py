"""The AI SDK's routes: what `useChat` posts to, resumes from and loads its history from.

Follows `DefaultChatTransport` of ai 5, 6 and 7. The chat's id is the session's, made on demand.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response

from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.broadcast import StreamKey
from adk_prism.pipeline.conversation import Conversations, Start
from adk_prism.pipeline.live_messages import live_messages
from adk_prism.pipeline.message_stream import message_frames, open_message, running, shown
from adk_prism.projection.ai_sdk.dialects import dialect as find_dialect
from adk_prism.projection.ai_sdk.dialects import kept
from adk_prism.projection.ai_sdk.error_text import completed
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.projection.ai_sdk.messages import rebuild, settled
from adk_prism.projection.ai_sdk.requests import (
    ChatRequest,
    Continuation,
    NewMessage,
    Regenerate,
    read_request,
)
from adk_prism.projection.ai_sdk.user_message import user_messages
from adk_prism.projection.registry import protocol
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.server.base_url import base_url
from adk_prism.server.client_state import check_state
from adk_prism.server.client_tools import brought_along
from adk_prism.server.context import Context
from adk_prism.server.event_stream import EventStream
from adk_prism.server.files.resent_files import with_own_files
from adk_prism.server.guards.chat_body import ChatRoute
from adk_prism.server.guards.name_rules import AppName, SessionId, check_session, check_user
from adk_prism.server.guards.strict_body import StrictRequest, StrictRoute
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.identity.parameters import QueryUser
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.server.problem_format import CHAT_PATH, CHAT_RESPONSES
from adk_prism.server.routes.run import RUN_HEADER, Key

Dialect = Annotated[str, Query(description="AI SDK version: 5, 6 or 7")]


def routes(context: Context) -> APIRouter:
    """Return the router of chats."""
    router = APIRouter(
        prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=CHAT_RESPONSES
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


async def act(conversations: Conversations, start: Start, asked: ChatRequest) -> RunId:
    """Do what a chat client asks for; return the run."""
    match asked.action:
        case NewMessage() as message:
            return await conversations.submit(start, message)
        case Regenerate() as wish:
            return await conversations.regenerate(start, wish)
        case Continuation() as answer:
            return await conversations.answer(start, answer)


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
        """Say something, answer, or take back; stream the assistant's message."""
        self._context.lifecycle.check_open()
        find_dialect(dialect)
        await self._context.apps.load(app_name)
        asked = read_request(body)
        user = spoken_user(caller_of(request), check_user(asked.user))
        origin = Origin(app=app_name, user=user, session=check_session(asked.chat))
        delta = body.get("stateDelta") if isinstance(body.get("stateDelta"), dict) else {}
        await check_state(self._context, app_name, delta or {})
        tools, warnings = brought_along(self._context, app_name, asked)

        async def begin(run: RunId | None, digest: str) -> RunId:
            start = Start(
                origin=origin,
                policy=self._context.settings.chat_busy,
                by=called_by(),
                run=run,
                digest=digest,
                state_delta=delta or {},
                client_tools=tools,
                warnings=warnings,
            )
            whole = await with_own_files(self._context, origin, asked, base)
            return await act(self._context.conversations, start, whole)

        base = base_url(request, self._context.settings)
        scope = f"chat {origin.app} {origin.user} {origin.session}"
        digest = request.digest if isinstance(request, StrictRequest) else ""
        run = await self._context.idempotency.once(
            key, scope, await request.body(), begin, digest=digest
        )
        return await self._stream(request, run, dialect)

    async def _stream(self, request: Request, run: RunId, dialect: str) -> Response:
        files = FileLinks(base_url(request, self._context.settings))
        errors = self._context.errors
        spec = errors.spec(request.scope, protocol("ai-sdk", dialect, files))
        variant = (dialect, files.base, *errors.variant(request.scope))
        view = await self._context.broadcaster.open(StreamKey(run, "ai-sdk", variant), spec)
        return EventStream(view, spec, self._context, {RUN_HEADER: run})

    async def resume(
        self,
        request: Request,
        app_name: AppName,
        chat_id: SessionId,
        user: QueryUser,
        dialect: Dialect = "",
    ) -> Response:
        """Stream the message that is running, from its beginning; 204 when nothing runs."""
        find_dialect(dialect)
        self._context.apps.check(app_name)
        origin = Origin(app=app_name, user=user, session=chat_id)
        turns = await self._context.chats.turns(origin)
        place = running(turns)
        if place is None:
            return Response(status_code=204)
        files = FileLinks(base_url(request, self._context.settings))
        complete = self._context.errors.completion(request.scope)
        view = await open_message(self._context.broadcaster, place, dialect, files, complete)
        headers = {RUN_HEADER: place.turn.last.summary.run}
        return EventStream(view, protocol("ai-sdk", dialect), self._context, headers)

    async def messages(
        self,
        request: Request,
        app_name: AppName,
        chat_id: SessionId,
        user: QueryUser,
        dialect: Dialect = "",
    ) -> Response:
        """Return the chat's UI messages, without the one that is still streaming; none of a new chat."""
        find_dialect(dialect)
        self._context.apps.check(app_name)
        origin = Origin(app=app_name, user=user, session=chat_id)
        turns = await self._context.chats.turns(origin)
        files = FileLinks(base_url(request, self._context.settings))
        complete = self._context.errors.completion(request.scope)
        found: list[Any] = []
        for place in shown(turns):
            turn = place.turn
            if turn.first.head.live:
                run = turn.first.summary.run
                found += await live_messages(self._context.chats, run, dialect, files)
                continue
            first = turn.first
            found += user_messages(turn.user_message, first.head, first.summary.started, files)
            if not turn.live:
                chats = self._context.chats
                frames = await message_frames(chats, place, kept(dialect), files)
                if complete is not None:
                    frames = [completed(frame, complete) for frame in frames]
                found.append(settled(rebuild(frames)))
        return Response(msgspec.json.encode(found), media_type="application/json")

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
