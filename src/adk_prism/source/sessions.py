"""Sessions over ADK's session service: made empty, changed by events, rewound whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from msgspec import Raw

from adk_prism.runlog.entry import Origin


class Sessions:
    """One session service, by origin."""

    def __init__(
        self, service: BaseSessionService, *, allowed_state: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        """`allowed_state`: app → reserved state keys that its clients may write all the same."""
        raise NotImplementedError

    async def create(self, origin: Origin, state: Mapping[str, Any] | None = None) -> Session:
        """Make a session (empty id: one is drawn). Raise `Conflict` if it exists."""
        raise NotImplementedError

    async def ensure(self, origin: Origin, state: Mapping[str, Any] | None = None) -> bool:
        """Make the session if there is none; return whether it was made."""
        raise NotImplementedError

    async def exists(self, origin: Origin) -> bool:
        """Tell whether there is such a session, without loading its events."""
        raise NotImplementedError

    async def get(self, origin: Origin) -> Session:
        """Return the session with its events. Raise `NotFound`."""
        raise NotImplementedError

    async def state(self, origin: Origin) -> dict[str, Any]:
        """Return the state of all scopes, without the events. Raise `NotFound`."""
        raise NotImplementedError

    async def append_state(self, origin: Origin, delta: Mapping[str, Any]) -> Event:
        """Change state by one content-less event of the user; return it as stored."""
        raise NotImplementedError

    async def delete(self, origin: Origin) -> None:
        """Remove the session; one that is not there is no error."""
        raise NotImplementedError

    async def list(self, app: str, user: str) -> list[Session]:
        """Return a user's sessions without their events."""
        raise NotImplementedError

    async def rewind(
        self,
        runner: Runner,
        origin: Origin,
        invocation: str,
        wanted_state: Mapping[str, Raw] | None = None,
    ) -> None:
        """Take back an invocation and all after it. Raise `NotFound` or `Conflict`."""
        raise NotImplementedError

    def check_keys(self, app: str, delta: Mapping[str, Any]) -> None:
        """Raise `Forbidden` for a state key that a client may not write."""
        raise NotImplementedError
