"""The AI SDK's routes: what `useChat` posts to, resumes from and loads its history from.

Follows `DefaultChatTransport` of ai 5, 6 and 7. The chat's id is the session's, made on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.history import UiMessages
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.runs.broadcast import open_message
from adk_prism.runs.chats import Turn, build_history, running, stored_bytes
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.identity.identity import Chat
from adk_prism.server.problems import CHAT_PATH, TEXT_RESPONSES
from adk_prism.server.request_bodies import AppName, ChatRoute, StrictRoute
from adk_prism.server.run_starter import Key, read_sent
from adk_prism.server.run_streams import json_list

Dialect = Annotated[str, Query(description="AI SDK version: 5, 6 or 7")]
Version = Annotated[str, Query(description="Id of an answer in an earlier version")]


class ChatRoutes:
    """The routes of chats."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def router(self) -> APIRouter:
        """Return the router of chats."""
        router = APIRouter(
            prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=TEXT_RESPONSES
        )
        router.add_api_route(
            "/{app_name}",
            self.post,
            methods=["POST"],
            response_class=Response,
            route_class_override=ChatRoute,
        )
        nothing: dict[int | str, dict[str, Any]] = {204: {"description": "Nothing runs"}}
        router.get("/{app_name}/{chat_id}/stream", response_class=Response, responses=nothing)(
            self.resume
        )
        router.get("/{app_name}/{chat_id}/messages")(self.messages)
        router.get("/{app_name}/{chat_id}/versions")(self.versions)
        router.post("/{app_name}/{chat_id}/stop", status_code=200)(self.stop)
        return router

    async def post(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        dialect: Dialect = "",
        key: Key = "",
    ) -> Response:
        """Send a message, answer, or regenerate; stream the assistant's message."""
        format = self._context.streams.format(request, SPEC, dialect)
        sent = await read_sent(request, key, format.options.files.base)
        run = await self._context.starter.start(SPEC, app_name, read_request(body), sent)
        return await self._context.streams.start(run, format)

    async def resume(self, request: Request, chat: Chat, dialect: Dialect = "") -> Response:
        """Stream the message that is running, from its beginning; 204 when nothing runs."""
        format = self._context.streams.format(request, SPEC, dialect)
        self._context.apps.check(chat.app)
        place = running(await self._context.chats.turns(chat))
        if place is None:
            return Response(status_code=204)
        view = await open_message(self._context.streams.broadcaster, place, format)
        return self._context.streams.response(view, format, place.turn.last.summary.run)

    async def messages(
        self, request: Request, chat: Chat, dialect: Dialect = "", version: Version = ""
    ) -> Response:
        """Return the chat's UI messages, without the one that is still streaming; none of a new chat.

        The name of a recorded session or an upload, as `GET /api/conversations` lists it, gives its messages.
        A `version` gives the messages of an earlier conversation in which that answer is.
        """
        format = self._context.streams.format(request, SPEC, dialect)
        turns, is_live = await self._context.chats.shown_turns(chat, version)
        if not turns:
            self._context.apps.check(chat.app)  # What was recorded elsewhere needs no app here.
        history = UiMessages(format.options, format.complete)
        async with self._context.limits.heavy.slot(caller_of(request), stored_bytes(turns)):
            await build_history(self._context.chats, turns, history, is_left=not is_live)
            body = await asyncio.to_thread(lambda: json_list(history.messages()))
        return Response(body, media_type="application/json")

    async def versions(self, chat: Chat) -> list[list[dict[str, Any]]]:
        """Return where a chat has several versions of a turn: each group oldest first.

        They were regenerated, edited or rewound. A message whose `parentId` is an earlier version's
        `messageId` restores it.
        """
        history = await self._context.chats.history(chat)
        live = {turn.message for turn in history.turns}
        return [[_version(turn, live) for turn in group] for group in history.versions]

    async def stop(self, chat: Chat) -> dict[str, Any]:
        """Stop the run of a chat; repeating it, or stopping nothing, is no error.

        The answer does not wait for tools that ignore it: `toolRunning` tells whether one is still at work
        (null: not known here), `runningTools` which.
        """
        self._context.apps.check(chat.app)
        stopped = await self._context.runs.canceller.stop(chat)
        if stopped.found:
            await self._context.audit.note(AuditedAction(action="run cancelled", origin=chat))
        return {"stopped": stopped.found, **stopped.shown()}


def _version(turn: Turn, live: Collection[str]) -> dict[str, Any]:
    return {
        "messageId": turn.message,
        "userMessageId": turn.user_message,
        "started": turn.first.summary.started,
        "current": turn.message in live,
    }
