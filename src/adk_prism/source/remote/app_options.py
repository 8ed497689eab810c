"""What the operator says of one remote app: where it is, how it is called, and what it may cost."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

DEFAULT_IDLE = 600.0
"""Seconds without an event: a tool may take minutes, and ADK sends nothing meanwhile."""

DEFAULT_TOTAL = 3600.0
"""Seconds of one run."""

DEFAULT_EVENT_BYTES = 16 * 1024 * 1024
"""Of one event: a few MiB of inline media, and some room."""


_ENGINE = re.compile(r"/reasoningEngines/[^/]+$")


class Remote(Struct, frozen=True, kw_only=True):
    """One remote app."""

    name: str
    """Under which it is served here."""
    url: str
    """Of its server, without a slash at the end."""
    app: str
    """Its name on that server."""
    dialect: str = "auto"
    headers: Mapping[str, str] = {}
    """Sent with every request. Never logged."""
    token_command: str = ""
    """Prints a bearer token. Run again when the token is refused."""
    connect: float = 10.0
    """Seconds until a connection has to be there."""
    answer: float = 30.0
    """Seconds for a request that does not run the agent."""
    idle: float = DEFAULT_IDLE
    total: float = DEFAULT_TOTAL
    event_bytes: int = DEFAULT_EVENT_BYTES
    body_bytes: int = 64 * 1024 * 1024
    """Of an answer that is not a stream: a session with all its events."""

    @property
    def is_engine(self) -> bool:
        """Whether the address is that of an app on Agent Engine."""
        return _ENGINE.search(self.url) is not None

    def engine_path(self, *, stream: bool) -> str:
        """Return where methods of an app on Agent Engine are called: there, or on ADK's own server."""
        if self.is_engine:
            return ":streamQuery?alt=sse" if stream else ":query"
        return "/api/stream_reasoning_engine" if stream else "/api/reasoning_engine"
