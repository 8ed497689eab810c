"""Chats over one WebSocket, for the AI SDK's `WebSocketChatTransport`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.chat_socket.connection import routes

    return Served(routers=[routes(context)])


EXTENSION = Extension(
    name="chat_socket",
    summary="chats over a WebSocket, for the AI SDK's WebSocketChatTransport",
    serve=_serve,
)
