"""What is known of a remote app before it is called: where it is, what it may cost, what its server speaks.

The dialects are a table of the ADK servers that can be spoken to: how each differs from Python's 2.x.
Python 1.39 and 2.13, TypeScript 2.0 and Agent Engine's methods on ADK's own server were run; Java 1.8, Go 2.2
and Kotlin 0.8 are written from their sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from adk_prism.errors import Conflict, NotFound, PrismError

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


AUTO = "auto"

Refusals = Mapping[int, type[PrismError]]
"""What a status means beyond what it means to everybody."""


class Dialect(Struct, frozen=True, kw_only=True):
    """One kind of ADK server."""

    name: str
    prefix: str = ""
    """Of every path."""
    patches_state: bool = False
    """`PATCH …/sessions/{s}` changes state without a run."""
    has_app_info: bool = False
    """`GET /apps/{app}/app-info` describes the agents, if the root is an `LlmAgent`."""
    has_build_graph: bool = False
    """`GET /dev/apps/{app}/build_graph` describes them."""
    has_metadata: bool = False
    """A run takes `customMetadata`."""
    has_versions: bool = False
    """Artifacts have versions with metadata, and can be saved."""
    creates_by_path: bool = False
    """A session with an id is created by `POST …/sessions/{s}`, not by an id in the body."""
    takes_events: bool = False
    """A session can be created with events: those of a person and of agents, without actions."""
    no_session: Refusals = {}
    """Answers to reading a session that is not there."""
    session_exists: Refusals = {}
    """Answers to creating a session that is there."""
    has_live: bool = False
    """`WS /run_live` takes live runs."""
    has_newer_live: bool = False
    """There, state and messages in pieces are taken, too."""
    fails_silently: bool = False
    """A run that failed is a stream that ends."""
    is_engine: bool = False
    """Methods of Agent Engine take the place of ADK's routes. A run that failed breaks the connection."""


DIALECTS = {
    each.name: each
    for each in (
        Dialect(
            name="python",
            patches_state=True,
            has_app_info=True,
            has_metadata=True,
            has_versions=True,
            has_live=True,
            has_newer_live=True,
            takes_events=True,
        ),
        Dialect(
            name="python-1",
            patches_state=True,
            has_app_info=True,
            has_live=True,
            takes_events=True,
        ),
        Dialect(
            name="typescript",
            has_build_graph=True,
            creates_by_path=True,
            session_exists={400: Conflict},
        ),
        Dialect(
            name="java", creates_by_path=True, session_exists={400: Conflict}, fails_silently=True
        ),
        Dialect(
            name="go",
            prefix="/api",
            creates_by_path=True,
            takes_events=True,
            no_session={500: NotFound},
        ),
        Dialect(
            name="kotlin", creates_by_path=True, session_exists={400: Conflict}, fails_silently=True
        ),
        Dialect(name="agent-engine", is_engine=True, fails_silently=True),
    )
}
"""By name, in the order in which they are listed."""
