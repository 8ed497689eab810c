"""A cache of the events of long sessions, which ADK's services would load again for every turn.

ADK reads a session's whole history at the start of a turn, and again for each resume or rewind: with
5,000 events that takes half a second and more. This service caches the events of long sessions, and a turn
reads only what was appended since. State is read each time, because other sessions write `user:` and
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types

from adk_prism.adk.internals.log_lines import Revision, session_revision, sqlite_connection
from adk_prism.adk.session_store import SessionKey, SessionStore, apply_rewinds, storage_of
from adk_prism.features.long_sessions import prefix as prefixes
from adk_prism.features.long_sessions.cached_prefix import after_prefix

SHORTEST = 50
"""Events below which a session is not cached: a query for new events would cost as much."""

MOST_BYTES = 256 * 1024**2
"""Bytes of all cached sessions together, roughly: some 48,000 short events."""

MOST_SESSIONS = 1000
"""Cached sessions: each has at least `SHORTEST` events, and all are summed up on eviction."""

OVERLAP = 0.5
"""Seconds before the last cached event from which on events are read again, to check that they follow. A
database may store times less exactly than events do."""


@dataclass(slots=True)
class _CachedSession:
    """A session's events, as of a revision."""

    events: list[Event]
    revision: Revision
    weight: int
    prefix: prefixes.Prefix | None = None
    appended: tuple[str, ...] = ()
    """Ids of events that this process has appended since they were read."""

    @property
    def bytes(self) -> int:
        return self.weight + (self.prefix.weight if self.prefix is not None else 0)


class SessionCache(SessionStore):
    """A session store with a cache."""

    def __init__(self, inner: BaseSessionService, *, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(inner)
        self._most_bytes = most_bytes
        self._cached: OrderedDict[SessionKey, _CachedSession] = OrderedDict()
        """The session used last comes last."""

    def config_of_new_turn(self, runner: Runner) -> GetSessionConfig | None:
        return after_prefix(runner)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        key = (app_name, user_id, session_id)
        if config is not None and not isinstance(config, prefixes.AfterPrefix):
            return await self._read(key, config)
        session = await self._whole(key)
        if session is not None and isinstance(config, prefixes.AfterPrefix):
            self._shorten(key, session, config.speakers)
        return session

    async def _whole(self, key: SessionKey) -> Session | None:
        """Return a session with all events: the cached ones and the new ones, or all read again."""
        hot = self._cached.get(key)
        if hot is not None and (session := await self._caught_up(key, hot)) is not None:
            self._keep(key, session, hot)
            return session
        session = await self._read(key, None)
        self._keep(key, session, None)
        return session

    async def _caught_up(self, key: SessionKey, hot: _CachedSession) -> Session | None:
        """Return a session with the cached events and those that came since; None if unsure."""
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

    async def _read(self, key: SessionKey, config: GetSessionConfig | None) -> Session | None:
        app_name, user_id, session_id = key
        return await super().get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    def _keep(self, key: SessionKey, session: Session | None, known: _CachedSession | None) -> None:
        """Cache a session's events, of which some may be `known`, and evict what exceeds the limits."""
        self._cached.pop(key, None)
        if session is None or len(session.events) < SHORTEST:
            return
        weight, count = (known.weight, len(known.events)) if known is not None else (0, 0)
        weight += sum(map(event_size, session.events[count:]))
        prefix = known.prefix if known is not None else None
        # A copy: the Runner appends to its list.
        self._cached[key] = _CachedSession(
            list(session.events), session_revision(session), weight, prefix
        )
        total = sum(hot.bytes for hot in self._cached.values())
        while total > self._most_bytes or len(self._cached) > MOST_SESSIONS:
            _, dropped = self._cached.popitem(last=False)
            total -= dropped.bytes

    def _shorten(self, key: SessionKey, session: Session, speakers: frozenset[str]) -> None:
        """Take the prefix off a session, if it has one and the rest shows which agent speaks."""
        hot = self._cached.get(key)
        if hot is None:
            return
        hot.prefix = prefixes.cut_off(hot.events, hot.prefix)
        if hot.prefix is not None and _shows_speaker(
            hot.events[len(hot.prefix.events) :], speakers
        ):
            prefixes.shorten(session, hot.prefix)

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        key = (session.app_name, session.user_id, session.id)
        before = session_revision(session)
        # Not cached until the append has succeeded.
        hot = self._cached.pop(key, None)
        stored = await super().append_event(session, event)
        if hot is not None and hot.revision == before:
            hot.appended = (*hot.appended, stored.id)
            hot.revision = session_revision(session)
            self._cached[key] = hot
        prefix = prefixes.prefix_of(session)
        if prefix is not None and prefix.tied(stored):
            prefixes.restore(session)
        return stored

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        self._cached.pop((app_name, user_id, session_id), None)
        await super().delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def close(self) -> None:
        """Empty the cache, and close the connections of the inner service, if it has any."""
        self._cached.clear()
        await super().close()


def _news(kept: Sequence[Event], recent: Sequence[Event]) -> list[Event] | None:
    """Return those of the recent events that come after all cached ones; None if they do not follow."""
    for count in range(1, min(len(kept), len(recent)) + 1):
        if kept[-count].id == recent[0].id:
            same = zip(kept[-count:], recent, strict=False)
            return list(recent[count:]) if all(a.id == b.id for a, b in same) else None
    return None


def _shows_speaker(events: Sequence[Event], speakers: frozenset[str]) -> bool:
    """Return whether these events are enough for ADK to see who speaks next (its `_agent_router`)."""
    return any(
        event.author in speakers
        and not event.error_code
        and event.actions.agent_state is None
        and not event.actions.end_of_agent
        for event in apply_rewinds(events)
    )


# ---------------------------------------------------------------------- sizes


EVENT = 4500
"""An event with one short part, as pydantic keeps it (measured)."""
PART = 1000
VALUE = 60


def event_size(event: Event) -> int:
    """Return the approximate memory size of an event: an exact one would cost as much as reading it."""
    weight = EVENT + _plain(event.actions.state_delta) + _plain(event.output)
    weight += _plain(event.custom_metadata)
    for part in (event.content.parts if event.content is not None else None) or ():
        weight += PART + _part(part)
    if event.grounding_metadata is not None:
        weight += PART * len(event.grounding_metadata.grounding_chunks or ())
    return weight


def _part(part: types.Part) -> int:
    weight = len(part.text or "") + len(part.thought_signature or b"")
    if part.inline_data is not None:
        weight += len(part.inline_data.data or b"")
    if part.function_call is not None:
        weight += _plain(part.function_call.args)
    if part.function_response is not None:
        weight += _plain(part.function_response.response)
    if part.executable_code is not None:
        weight += _plain(part.executable_code.code)
    if part.code_execution_result is not None:
        weight += _plain(part.code_execution_result.output)
    return weight


def _plain(value: Any) -> int:
    """Return the bytes of a JSON value."""
    if isinstance(value, str | bytes):
        return VALUE + len(value)
    if isinstance(value, Mapping):
        return VALUE + sum(VALUE + len(str(key)) + _plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return VALUE + sum(map(_plain, value))
    return 0 if value is None else VALUE


async def count_events(service: BaseSessionService, key: SessionKey) -> int | None:
    """Return the number of a session's events; None if the storage is unknown.

    If the newest events are known, the count shows that nothing was inserted among the older ones: a clock
    that is behind gives an event an earlier time than those before it.
    """
    app_name, user_id, session_id = key
    if isinstance(service, InMemorySessionService):
        found = service.sessions.get(app_name, {}).get(user_id, {}).get(session_id)
        return len(found.events) if found is not None else None
    if (connection := sqlite_connection(service)) is not None:
        count = "SELECT COUNT(*) FROM events WHERE app_name=? AND user_id=? AND session_id=?"
        async with connection as db, db.execute(count, key) as rows:
            row = await rows.fetchone()
        return int(row[0]) if row is not None else None

    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.adk.sessions.schemas.v1 import StorageEvent
    from sqlalchemy import func, select

    if not isinstance(service, DatabaseSessionService):
        return None
    which = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
    async with service.database_session_factory() as sql:
        query = select(func.count()).select_from(StorageEvent).filter_by(**which)
        return await sql.scalar(query)
