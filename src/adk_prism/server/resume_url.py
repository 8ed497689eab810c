"""The address from which a chat client resumes, where its `api` has a query.

`DefaultChatTransport` (ai 5.0.0 to 7) appends `/{chat}/stream` to `api` as text. With `api` set to
`/api/chat/my_app?dialect=7` that gives `/api/chat/my_app?dialect=7/chat-1/stream`: the end of the path
is in the query. Here it is put back before the request is routed.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_CHAT_PATH = re.compile(r"/api/chat/[^/]+$")
_MISPLACED = re.compile(rb"(?P<query>.*)/(?P<chat>[^/&=]+)/stream")


class ResumeAddress:
    """ASGI middleware that routes such a request to the chat's stream; all others pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and scope["method"] == "GET":
            scope = _corrected(scope)
        await self._app(scope, receive, send)


def _corrected(scope: Scope) -> Scope:
    found = _MISPLACED.fullmatch(scope["query_string"])
    if found is None or _CHAT_PATH.search(scope["path"]) is None:
        return scope
    chat: bytes = found["chat"]
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return {
        **scope,
        "path": f"{scope['path']}/{unquote(chat.decode('ascii', 'replace'))}/stream",
        "raw_path": raw_path + b"/" + chat + b"/stream",
        "query_string": found["query"],
    }
