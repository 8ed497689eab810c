"""Bodies of chat requests: read as a stream, because most of one may be history that is not needed."""

from __future__ import annotations

import hashlib
import re
from typing import ClassVar

from adk_prism.server.guards.history_filter import HistoryFilter
from adk_prism.server.guards.strict_body import StrictRequest, StrictRoute

CHAT_PATH = re.compile(r"/api/chat/[^/]+")
"""Where chat clients post."""


class ChatRoute(StrictRoute):
    """A route whose JSON body is kept without its earlier messages, and then parsed strictly."""

    results: ClassVar[frozenset[bytes]] = frozenset()
    """Roles of messages that are kept if they are the end of the list, or right before its last message."""

    async def read(self, request: StrictRequest) -> bytes:
        """Return what is kept of the body; the request has the digest of all of it."""
        settings = request.app.state.context.settings
        kept, digest = HistoryFilter(settings.body_limit, self.results), hashlib.sha256()
        async for piece in request.stream():
            digest.update(piece)
            kept.feed(piece)
        request.digest = digest.hexdigest()
        request.kept = kept.finish()
        return request.kept


AGENT_PATH = re.compile(
    r"/api/ag-ui/[^/]+(?:/connect)?|/api/copilotkit/agent/[^/]+/(?:run|connect)"
)
"""Where AG-UI clients post threads."""


class AgentRoute(ChatRoute):
    """A route of AG-UI, whose JSON body is kept without the earlier messages of its thread.

    Kept are the last message, and the tool messages right before it: results of the client's own tools.
    """

    results = frozenset({b'"tool"'})
