"""A cache of the events of long sessions, which ADK's services would load again for every turn.

ADK reads a session's whole history at the start of a turn, and again for each resume or rewind: with
5,000 events that takes half a second and more. This service caches the events of long sessions, and a turn
reads only what was appended since. State is read anew each time, because other sessions write `user:` and
`app:` keys too.

The cache holds what the service returned, never what was passed to `append_event`, so a session from the
cache equals one from storage, event for event. It is valid while the service's revision of the session is
the one that the appends of this process led to, and the newest events are those that were appended. After
another process has written, it is valid if the newest events follow the cached ones and the event count
matches; otherwise the session is read in full.

A run that asks for it (`AfterPrefix`) gets the last events only, with a placeholder for those before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session

from adk_prism.source.adk.session_storage import Revision, session_revision
from adk_prism.source.event_count import SessionKey, count_events
from adk_prism.source.event_size import event_size
from adk_prism.source.history import apply_rewinds
from adk_prism.source.prefix.placeholder import prefix_of, restore, shorten
from adk_prism.source.prefix.session_prefix import Prefix, cut_off
from adk_prism.source.session_store import SessionStore

SHORTEST = 50
"""Events below which a session is not cached: a query for new events would cost as much."""

MOST_BYTES = 256 * 1024**2
"""Bytes of all cached sessions together, roughly: some 48,000 short events."""

MOST_SESSIONS = 1000
"""Cached sessions: each has at least `SHORTEST` events, and all are summed up on eviction."""

OVERLAP = 0.5
"""Seconds before the last cached event from which on events are read again, to check that they follow. A
database may store times less exactly than events do."""

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

_Key = SessionKey


class AfterPrefix(GetSessionConfig):
    """Asks for a session without its prefix. To any other service it is a config without a limit."""

    speakers: frozenset[str]
    """Agents of which one has to have spoken after the cut: ADK sees from it who speaks next."""


@dataclass(slots=True)
class _CachedSession:
    """A session's events, as of a revision."""

    events: list[Event]
    revision: Revision
    weight: int
    prefix: Prefix | None = None
    appended: tuple[str, ...] = ()
    """Ids of events that this process has appended since they were read."""

    @property
    def bytes(self) -> int:
        return self.weight + (self.prefix.weight if self.prefix is not None else 0)


def cached_sessions(service: BaseSessionService) -> BaseSessionService:
    """Return the service with a cache of long sessions, if its storage is known."""
    kind = type(service)
    is_known = f"{kind.__module__}.{kind.__qualname__}" in _KNOWN
    return SessionCache(SessionStore(service)) if is_known else service


def storage_of(service: BaseSessionService) -> BaseSessionService:
    """Return the storage service behind a cache."""
    while isinstance(service, SessionCache | SessionStore):
        service = service.inner
    return service


class SessionCache(BaseSessionService):
    """A session service in front of another one."""

    def __init__(self, inner: BaseSessionService, *, most_bytes: int = MOST_BYTES) -> None:
        self.inner = inner
        self._most_bytes = most_bytes
        self._hot: OrderedDict[_Key, _CachedSession] = OrderedDict()
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
        if config is not None and not isinstance(config, AfterPrefix):
            return await self._read(key, config)
        session = await self._whole(key)
        if session is not None and isinstance(config, AfterPrefix):
            self._shorten(key, session, config.speakers)
        return session

    async def _whole(self, key: _Key) -> Session | None:
        """Return a session with all events: those that are kept and what is new, or all read anew."""
        hot = self._hot.get(key)
        if hot is not None and (session := await self._caught_up(key, hot)) is not None:
            self._keep(key, session, hot)
            return session
        session = await self._read(key, None)
        self._keep(key, session, None)
        return session

    async def _caught_up(self, key: _Key, hot: _CachedSession) -> Session | None:
        """Return a session with the events that are kept and those that came since; None if unsure."""
        since = hot.events[-1].timestamp - OVERLAP
        session = await self._read(key, GetSessionConfig(after_timestamp=since))
        new = _news(hot.events, session.events) if session is not None else None
        if session is None or new is None:
            return None
        session.events = [*hot.events, *new]
        is_ours = session_revision(session) == hot.revision and hot.appended == tuple(
            e.id for e in new
        )
        if is_ours or await count_events(storage_of(self), key) == len(session.events):
            return session
        return None

    async def _read(self, key: _Key, config: GetSessionConfig | None) -> Session | None:
        app_name, user_id, session_id = key
        return await self.inner.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    def _keep(self, key: _Key, session: Session | None, known: _CachedSession | None) -> None:
        """Keep a session's events, of which some may be `known`, and let go of what is too much."""
        self._hot.pop(key, None)
        if session is None or len(session.events) < SHORTEST:
            return
        weight, count = (known.weight, len(known.events)) if known is not None else (0, 0)
        weight += sum(map(event_size, session.events[count:]))
        prefix = known.prefix if known is not None else None
        # The Runner adds to the list that it is given: ours is another one.
        self._hot[key] = _CachedSession(
            list(session.events), session_revision(session), weight, prefix
        )
        total = sum(hot.bytes for hot in self._hot.values())
        while total > self._most_bytes or len(self._hot) > MOST_SESSIONS:
            _, dropped = self._hot.popitem(last=False)
            total -= dropped.bytes

    def _shorten(self, key: _Key, session: Session, speakers: frozenset[str]) -> None:
        """Take the prefix off a session, if it has one and what is left says who speaks."""
        hot = self._hot.get(key)
        if hot is None:
            return
        hot.prefix = cut_off(hot.events, hot.prefix)
        if hot.prefix is not None and _says_who(hot.events[len(hot.prefix.events) :], speakers):
            shorten(session, hot.prefix)

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        key = (session.app_name, session.user_id, session.id)
        before = session_revision(session)
        # Forgotten until it is known what has been stored, also if that is never known.
        hot = self._hot.pop(key, None)
        stored = await self.inner.append_event(session, event)
        if hot is not None and hot.revision == before:
            hot.appended = (*hot.appended, stored.id)
            hot.revision = session_revision(session)
            self._hot[key] = hot
        prefix = prefix_of(session)
        if prefix is not None and prefix.tied(stored):
            restore(session)
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

    async def check(self) -> None:
        """Find out whether the store answers, where that can be asked. Raise `NoSessions`."""
        if isinstance(self.inner, SessionStore):
            await self.inner.check()

    async def flush(self) -> None:
        await self.inner.flush()

    async def close(self) -> None:
        """Let go of the inner service's connections, if it has any."""
        self._hot.clear()
        close = getattr(self.inner, "close", None)
        if close is not None:
            await close()


def _news(kept: Sequence[Event], recent: Sequence[Event]) -> list[Event] | None:
    """Return those of the recent events that come after all that are kept; None if they do not follow."""
    for count in range(1, min(len(kept), len(recent)) + 1):
        if kept[-count].id == recent[0].id:
            same = zip(kept[-count:], recent, strict=False)
            return list(recent[count:]) if all(a.id == b.id for a, b in same) else None
    return None


def _says_who(events: Sequence[Event], speakers: frozenset[str]) -> bool:
    """Tell whether ADK need not look further back to see who speaks next (its `_agent_router`)."""
    return any(
        event.author in speakers
        and not event.error_code
        and event.actions.agent_state is None
        and not event.actions.end_of_agent
        for event in apply_rewinds(events)
    )
