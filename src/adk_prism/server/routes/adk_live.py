"""`WS /run_live`: ADK's own live route; its frames are in `server.live.adk_frames`.

Follows google-adk 2.13 `cli/api_server.py`, with its query parameters. Video answers (an avatar) are refused;
`app_name` is optional where there is one app.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, WebSocket
from msgspec import structs

from adk_prism.errors import Unprocessable
from adk_prism.projection.adk import SPEC
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import check_app, check_session, check_user
from adk_prism.server.identity.caller import acting_user, caller_of
from adk_prism.server.live.adk_connection import AdkLiveConnection
from adk_prism.server.live.connection import ConnectRequest
from adk_prism.source.apps import Apps
from adk_prism.source.live.options import LiveOptions

Modality = Literal["TEXT", "AUDIO", "VIDEO"]


def routes(context: Context) -> APIRouter:
    """Return the router of ADK's live conversations."""
    router = APIRouter()
    apps, live = context.apps, context.live

    @router.websocket("/run_live")
    async def run_live(
        socket: WebSocket,
        user_id: str,
        session_id: str,
        app_name: str = "",
        modalities: Annotated[list[Modality] | None, Query()] = None,
        proactive_audio: bool | None = None,
        enable_affective_dialog: bool | None = None,
        enable_session_resumption: bool | None = None,
        save_live_blob: bool = False,
        explicit_vad_signal: bool | None = None,
    ) -> None:
        context.lifecycle.check_open()
        user = acting_user(caller_of(socket), check_user(user_id))
        app = check_app(app_name or _only_app(apps))
        (await apps.open(app)).check("live")
        options = structs.replace(
            _with_modality(live.options, modalities or ["AUDIO"]),
            proactive=proactive_audio,
            affective=enable_affective_dialog,
            explicit_activity=explicit_vad_signal,
            transparent=enable_session_resumption,
            save_audio=save_live_blob,
        )
        request = ConnectRequest(
            app=app,
            user=user,
            session=check_session(session_id),
            options=options,
            format=SPEC.format(complete=context.errors.completion(socket.scope)),
        )
        await socket.accept()
        await AdkLiveConnection(
            socket,
            request,
            live,
            context.log,
            context.audit.note,
            sessions=apps.sessions(app),
            state=context.client_state,
        ).serve()

    return router


def _only_app(apps: Apps) -> str:
    names = apps.names()
    if len(names) != 1:
        raise Unprocessable("`app_name` is required: this server has more than one app.")
    return names[0]


def _with_modality(options: LiveOptions, modalities: list[Modality]) -> LiveOptions:
    if "VIDEO" in modalities:
        raise Unprocessable("`modalities` VIDEO is not supported; use AUDIO or TEXT.")
    return structs.replace(options, modality="audio" if "AUDIO" in modalities else "text")
