"""`WS /api/live/{app}`: a live conversation with an agent; its frames are in `server.live`."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, WebSocket
from msgspec import structs

from adk_prism.projection.ai_sdk import SPEC
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.entry import parse_position
from adk_prism.server.base_url import base_url
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import AppName, check_session
from adk_prism.server.identity.parameters import QueryUser
from adk_prism.server.live.connection import ConnectRequest, LiveConnection

DIALECT = "7"
"""The default: a question and its answer are in one stream here, which a v6 client does not support."""


def routes(context: Context) -> APIRouter:
    """Return the router of live conversations."""
    router = APIRouter(prefix="/api/live")

    @router.websocket("/{app_name}")
    async def live_socket(
        socket: WebSocket,
        app_name: AppName,
        user: QueryUser,
        session: str = "",
        dialect: str = DIALECT,
        after: str = "",
        audio: Literal["json", "binary"] = "json",
        modality: Literal["audio", "text"] = "audio",
        turns: Literal["detected", "manual"] = "detected",
    ) -> None:
        context.lifecycle.check_open()
        (await context.apps.open(app_name)).check("live")
        files = FileLinks(base_url(socket, context.settings))
        complete = context.errors.completion(socket.scope)
        format = SPEC.format(dialect, files, complete=complete)
        if after:
            parse_position(after)
        options = structs.replace(context.live.options, modality=modality, manual=turns == "manual")
        request = ConnectRequest(
            app=app_name,
            user=user,
            session=check_session(session) if session else "",
            format=format,
            after=after,
            binary=audio == "binary",
            options=options,
        )
        await socket.accept()
        await LiveConnection(socket, request, context.live, context.log, context.audit.note).serve()

    return router
