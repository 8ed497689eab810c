"""Long sessions at hand: what ADK's services load again for every turn is loaded once.

ADK reads a session's whole history at the start of a turn, and once more for each resume or rewind: with
5,000 events that is half a second and more. Here the events of long sessions are kept after they were
read, and a turn reads only what was appended since. State is read anew each time: other sessions write
`user:` and `app:` keys too.

What is kept is what the service itself gave, never what was handed to `append_event`, so a session from
memory equals one from storage, event for event. It counts only while the service's revision of the
session is the one that the appends of this process led to, and the ids of the newest events are those
that were appended; after anybody else's write the session is read in full again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session

SHORTEST = 50
"""Events below which a session is simply read: asking what is new would cost as much."""

MOST_EVENTS = 20_000
"""Events kept of all sessions together, some hundred MB; the session used last stays in any case."""

_KNOWN = {
    f"google.adk.sessions.{module}"
    for module in (
        "in_memory_session_service.InMemorySessionService",
        "sqlite_session_service.SqliteSessionService",
        "database_session_service.DatabaseSessionService",
    )
}
"""Services whose order of events and revisions are known; any other is used as it is. By name: to
import them all takes half a second, and one is used."""

_Key = tuple[str, str, str]
_Revision = tuple[float, str | None]


class _Hot(NamedTuple):
    """A session's events, as of a revision."""

    events: list[Event]
    revision: _Revision
    appended: tuple[str, ...] = ()
    """Ids of events that this process has appended since they were read."""


def keep_hot(service: BaseSessionService) -> BaseSessionService:
    """Return the service, with long sessions kept at hand where that is known to be safe."""
    kind = type(service)
    return HotSessions(service) if f"{kind.__module__}.{kind.__qualname__}" in _KNOWN else service


def storage_of(service: BaseSessionService) -> BaseSessionService:
    """Return the service that stores."""
    return service.inner if isinstance(service, HotSessions) else service


class HotSessions(BaseSessionService):
    """A session service in front of another one."""

    def __init__(self, inner: BaseSessionService, *, most_events: int = MOST_EVENTS) -> None:
        self.inner = inner
        self._most_events = most_events
        self._hot: OrderedDict[_Key, _Hot] = OrderedDict()
        """The session used last comes last."""

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        key = (app_name, user_id, session_id)
        hot = self._hot.get(key) if config is None else None
        if hot is not None:
            recent = await self._read(key, GetSessionConfig(num_recent_events=_asked(hot)))
            events = _joined(hot, recent) if recent is not None else None
            if recent is not None and events is not None:
                recent.events = events
                self._keep(key, recent)
                return recent
        session = await self._read(key, config)
        if config is None:
            self._keep(key, session)
        return session

    async def _read(self, key: _Key, config: GetSessionConfig | None) -> Session | None:
        app_name, user_id, session_id = key
        return await self.inner.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    def _keep(self, key: _Key, session: Session | None) -> None:
        self._hot.pop(key, None)
        if session is None or len(session.events) < SHORTEST:
            return
        # The Runner adds to the list that it is given: ours is another one.
        self._hot[key] = _Hot(list(session.events), _revision(session))
        total = sum(len(hot.events) for hot in self._hot.values())
        while total > self._most_events and len(self._hot) > 1:
            _, dropped = self._hot.popitem(last=False)
            total -= len(dropped.events)

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        key = (session.app_name, session.user_id, session.id)
        before = _revision(session)
        # Forgotten until it is known what has been stored, also if that is never known.
        hot = self._hot.pop(key, None)
        stored = await self.inner.append_event(session, event)
        if hot is not None and hot.revision == before:
            appended = (*hot.appended, stored.id)
            self._hot[key] = _Hot(hot.events, _revision(session), appended)
        return stored

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        return await self.inner.create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        return await self.inner.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        self._hot.pop((app_name, user_id, session_id), None)
        await self.inner.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await self.inner.get_user_state(app_name=app_name, user_id=user_id)

    async def flush(self) -> None:
        await self.inner.flush()

    async def close(self) -> None:
        """Let go of the inner service's connections, if it has any."""
        self._hot.clear()
        close = getattr(self.inner, "close", None)
        if close is not None:
            await close()


def _revision(session: Session) -> _Revision:
    return session.last_update_time, session._storage_update_marker


def _asked(hot: _Hot) -> int:
    """Return how many of the newest events to read: those that were appended, and the one before."""
    return len(hot.appended) + 1


def _joined(hot: _Hot, recent: Session) -> list[Event] | None:
    """Return all events, if what is kept and what is new make them; None to read everything."""
    ids = [event.id for event in recent.events]
    if _revision(recent) != hot.revision or ids != [hot.events[-1].id, *hot.appended]:
        return None
    return [*hot.events, *recent.events[1:]]
