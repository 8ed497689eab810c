"""Voice: live runs of an app, from ADK to a WebSocket of ours (`/api/live`) and to ADK's own (`/run_live`).

Live runs cannot be continued by another process. When a server stops and another one shares its run log, a
client can begin again there, so it is sent away at once; elsewhere it may talk on for as long as the grace
period lasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

    from adk_prism.server.context import Context


def routers(context: Context) -> list[APIRouter]:
    """Return the routers of voice; live runs end with the server."""
    from adk_prism.voice import adk_socket, socket
    from adk_prism.voice.run_context import LiveOptions
    from adk_prism.voice.source import LiveRuns

    settings = context.settings
    options = LiveOptions(
        approval_timeout=settings.approval_timeout,
        client_timeout=settings.client_tool_timeout,
        audio_log_bytes=settings.live_sound_limit if settings.live_sound == "keep" else 0,
        max_llm_calls=settings.max_llm_calls,
    )
    live = LiveRuns(context, options, grace=settings.live_grace, second=settings.live_busy)

    async def drain(patience: float) -> None:
        has_others = await context.recording.leases.has_others()
        await live.drain(0.0 if has_others else patience)

    context.lifecycle.on_drain(drain)
    return [socket.routes(context, live), adk_socket.routes(context, live)]
