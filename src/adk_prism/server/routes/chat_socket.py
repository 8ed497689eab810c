"""`WS /api/chat/{app}/socket`: chats over one socket, for the AI SDK's `WebSocketChatTransport`.

It is separate from the live route, because its client gives up at any frame that is not the transport's.
"""

from __future__ import annotations

from fastapi import APIRouter, WebSocket

from adk_prism.projection.ai_sdk import SPEC
from adk_prism.server.chat_socket.connection import ChatConnection
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import AppName

DIALECT = "7"
"""The default: the transport came with ai 7."""


def routes(context: Context) -> APIRouter:
    """Return the router of chat sockets."""
    router = APIRouter(prefix="/api/chat")

    @router.websocket("/{app_name}/socket")
    async def socket(socket: WebSocket, app_name: AppName, dialect: str = DIALECT) -> None:
        context.lifecycle.check_open()
        await context.apps.open(app_name)
        format = context.streams.format(socket, SPEC, dialect)
        await socket.accept(_subprotocol(socket))
        await ChatConnection(socket, context, app_name, format).serve()

    return router


def _subprotocol(socket: WebSocket) -> str | None:
    """Return the first subprotocol that is offered: a client that offers one closes without an answer."""
    offered: list[str] = socket.scope.get("subprotocols") or []
    return offered[0] if offered else None
