"""Bodies of AG-UI requests: the whole thread with every run, of which the end is needed.

Kept are the last message, and the tool messages right before it: results of the client's own tools.
"""

from __future__ import annotations

import re

from adk_prism.server.guards.chat_body import ChatRoute

AGENT_PATH = re.compile(
    r"/api/ag-ui/[^/]+(?:/connect)?|/api/copilotkit/agent/[^/]+/(?:run|connect)"
)
"""Where AG-UI clients post threads."""


class AgentRoute(ChatRoute):
    """A route whose JSON body is kept without the earlier messages of its thread."""

    results = frozenset({b'"tool"'})
