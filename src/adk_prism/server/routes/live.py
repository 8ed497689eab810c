"""`WS /api/live/{app}`: a live conversation with an agent; its frames are in `server.live`."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, WebSocket
from msgspec import structs

from adk_prism.pipeline.live_runs import LiveRuns
from adk_prism.projection.ai_sdk import SPEC
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import parse_position
from adk_prism.server.base_url import base_url
from adk_prism.server.error_texts import ErrorTexts
from adk_prism.server.guards.name_rules import AppName, check_session
from adk_prism.server.identity.parameters import QueryUser
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.live.connection import ConnectRequest, LiveConnection
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.settings import Settings
from adk_prism.source.apps import Apps

DIALECT = "7"
"""The default: a question and its answer are in one stream here, which a v6 client does not support."""


def routes(
    apps: Apps,
    live: LiveRuns,
    log: RunLog,
    lifecycle: Lifecycle,
    errors: ErrorTexts,
    audit: AuditLog,
    settings: Settings,
) -> APIRouter:
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
        lifecycle.check_open()
        (await apps.open(app_name)).check("live")
        files = FileLinks(base_url(socket, settings))
        complete = errors.completion(socket.scope)
        format = SPEC.format(dialect, files, complete=complete)
        if after:
            parse_position(after)
        options = structs.replace(live.options, modality=modality, manual=turns == "manual")
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
        await LiveConnection(socket, request, live, log, audit.note).serve()

    return router
