"""The store of ADK's sessions: what its services have no method for, and one error for all databases.

ADK's services raise their driver's errors. This module decides which of them mean that the store cannot be
used, and why, so that a request is answered with 503 and a run ends with a code. The driver's own text may
name hosts, users and statements: it goes to the operator only, as the cause.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import msgspec
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.genai import types
from msgspec import Struct

from adk_prism.adk.internals.log_lines import sqlite_connection, sqlite_file
from adk_prism.errors import NoSessions
from adk_prism.facts.adk_event import APPENDED as MARK
from adk_prism.log.entry import Origin
from adk_prism.log.hooks import bound_json

# ---------------------------------------------------------------------------
# What ADK's session services have no method for, done in their storage: count events, remove state
# keys, make events readable again.
#
# For the three services whose storage is known.

SessionKey = tuple[str, str, str]
"""App, user and session."""


async def remove_state_keys(
    service: BaseSessionService, key: SessionKey, keys: Collection[str]
) -> bool:
    """Remove session-scoped keys from the stored state; return whether that was possible.

    A session service only assigns, so `rewind_async` sets a key that the rewound part added to None. A tool
    that reads `state.get("count", 0) + 1` would then fail. Call it only while no run holds the session:
    neither events nor the session's revision change, so no reader would notice.
    """
    if not keys:
        return True
    if isinstance(service, InMemorySessionService):
        app_name, user_id, session_id = key
        stored = service.sessions[app_name][user_id][session_id]
        for each in keys:
            stored.state.pop(each, None)
        return True
    return await _remove_in_sqlite(service, key, keys) or await _remove_in_database(
        service, key, keys
    )


async def _remove_in_sqlite(
    service: BaseSessionService, key: SessionKey, keys: Collection[str]
) -> bool:
    connection = sqlite_connection(service)
    if connection is None:
        return False
    where = "WHERE app_name=? AND user_id=? AND id=?"
    async with connection as db:
        await db.execute("BEGIN IMMEDIATE")
        async with db.execute(f"SELECT state FROM sessions {where}", key) as rows:
            row = await rows.fetchone()
        if row is not None:
            state = {k: v for k, v in json.loads(row["state"]).items() if k not in keys}
            await db.execute(f"UPDATE sessions SET state=? {where}", (json.dumps(state), *key))
        await db.commit()
    return True


async def _remove_in_database(
    service: BaseSessionService, key: SessionKey, keys: Collection[str]
) -> bool:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.adk.sessions.schemas.v1 import StorageSession

    if not isinstance(service, DatabaseSessionService):
        return False
    async with service.database_session_factory() as sql:
        stored = await sql.get(StorageSession, key, with_for_update=True)
        if stored is not None:
            for each in keys:
                stored.state.pop(each, None)
            await sql.commit()
    return True


# --------------------------------------------------------------------------- unreadable events


async def mend_events(service: BaseSessionService, key: SessionKey) -> int:
    """Rewrite the stored events of a session that ADK cannot read back; return how many there were.

    ADK's SQLite service writes events that it then refuses to read: nested up to 255 levels, of which it
    reads 200, or with a number of more digits than Python reads. One of them makes the whole session
    unreadable. What is beyond the bounds is cut, and says so; of an event that is no event only who, when and
    a note remain. The other services keep what they can read.
    """
    connection = sqlite_connection(service)
    if connection is None:
        return 0
    where = "WHERE app_name=? AND user_id=? AND session_id=?"
    mended = 0
    async with connection as db:
        async with db.execute(f"SELECT id, event_data FROM events {where}", key) as rows:
            stored = [(row[0], row[1]) for row in await rows.fetchall()]
        for event_id, data in stored:
            if _is_readable(data):
                continue
            mended += 1
            update = f"UPDATE events SET event_data=? {where} AND id=?"
            await db.execute(update, (_mended(event_id, data), *key, event_id))
        await db.commit()
    return mended


def _is_readable(data: str | bytes) -> bool:
    try:
        Event.model_validate_json(data)
    except (ValueError, RecursionError):
        return False
    return True


def _mended(event_id: str, data: str | bytes) -> str:
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    bounded = bound_json(raw).decode(errors="replace")
    if _is_readable(bounded):
        return bounded
    text = f"[cut: an event of {len(raw)} bytes that cannot be read]"
    try:
        fields = msgspec.json.decode(bounded.encode(), type=_Stored)
    except (msgspec.MsgspecError, RecursionError):
        fields = _Stored()
    event = Event(
        id=event_id,
        author=fields.author or "unknown",
        invocation_id=fields.invocation_id,
        timestamp=fields.timestamp,
        content=types.Content(role="model", parts=[types.Part(text=text)]),
    )
    return event.model_dump_json(exclude_none=True)


class _Stored(Struct):
    """What is kept of an event that cannot be read."""

    author: str = ""
    invocation_id: str = ""
    timestamp: float = 0.0


# ---------------------------------------------------------------------------

_STATES = {
    "08": "there is no connection to the database",
    "25006": "the database is read-only",
    "28": "the database does not accept the name or the password",
    "3D": "there is no such database",
    "3F": "the database has no schema for this user's tables",
    "42501": "the database does not allow it to this user",
    "53": "the database is full, or has no connection left",
    "57": "the database is starting or going down",
}
"""Beginnings of the SQL standard's states, as PostgreSQL gives them, and what they mean. Any other is not a
fault of the store: an invalid value, a session that was changed meanwhile."""

_MADE_MEANWHILE = frozenset(("23505", "42P06", "42P07", "42701", "42710"))
"""States that say that a table, a type or a row is there already."""

_PAUSES = (0.1, 0.3, 1.0, 2.0)
"""Seconds between two attempts: making the tables takes some tenths of one."""

_ATTEMPTS = 3
"""How often a list of sessions in memory is made in a thread."""

_DISCONNECTED = "there is no connection to the database"

_UNUSABLE = "the database cannot be used"

_INCOMPLETE = "the tables in the database are incomplete, or of another ADK version"


class SessionStore(BaseSessionService):
    """A session service that raises `NoSessions` when its store cannot be used."""

    def __init__(self, inner: BaseSessionService) -> None:
        self.inner = inner

    def config_of_new_turn(self, runner: Runner) -> GetSessionConfig | None:
        """Return which events a run loads that begins with a message; None for all of them."""
        del runner
        return None

    async def check(self) -> None:
        """Check that the store responds, with a query that finds nothing.

        The first query creates the tables. If replicas start together, only one can; the others get an error
        that the tables exist, or find them without their version, and try again.
        """
        for pause in (*_PAUSES, None):
            try:
                await self.list_sessions(app_name="-", user_id="-")
            except Exception as error:
                if not _is_half_made(error):
                    raise
                if pause is None:
                    raise NoSessions(_unusable_because(_INCOMPLETE)) from error
                await asyncio.sleep(pause)
            else:
                return

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        with _driver_errors():
            try:
                return await self.inner.get_session(**where, config=config)
            except (ValueError, RecursionError):
                # An event that ADK has written and cannot read.
                if not await mend_events(self.inner, (app_name, user_id, session_id)):
                    raise
            return await self.inner.get_session(**where, config=config)

    async def append_event(self, session: Session, event: Event) -> Event:
        with _driver_errors():
            stored = await self.inner.append_event(session, event)
        appended = APPENDED.get()
        if appended is not None and not event.partial:
            appended.note(session, stored)
        return stored

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        with _driver_errors():
            return await self.inner.create_session(
                app_name=app_name, user_id=user_id, state=state, session_id=session_id
            )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        with _driver_errors():
            if sqlite_file(self.inner) is not None:
                return await asyncio.to_thread(_list_in_thread, self.inner, app_name, user_id)
            if type(self.inner) is InMemorySessionService:
                return await _list_memory(self.inner, app_name, user_id)
            return await self.inner.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        with _driver_errors():
            await self.inner.delete_session(
                app_name=app_name, user_id=user_id, session_id=session_id
            )

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        with _driver_errors():
            return await self.inner.get_user_state(app_name=app_name, user_id=user_id)

    async def flush(self) -> None:
        with _driver_errors():
            await self.inner.flush()

    async def close(self) -> None:
        """Close the connections of the inner service, if it has any."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            await close()


ChangeStore = Callable[[SessionStore], SessionStore]
"""Returns the store that takes the place of another one."""

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


def store_over(
    service: BaseSessionService, change: ChangeStore | None = None
) -> BaseSessionService:
    """Return the store of a service whose storage is known, with a `change`; any other service as it is."""
    kind = type(service)
    if f"{kind.__module__}.{kind.__qualname__}" not in _KNOWN:
        return service
    store = SessionStore(service)
    return change(store) if change is not None else store


def storage_of(service: BaseSessionService) -> BaseSessionService:
    """Return the service behind a store."""
    while isinstance(service, SessionStore):
        service = service.inner
    return service


def _list_in_thread(
    service: BaseSessionService, app_name: str, user_id: str | None
) -> ListSessionsResponse:
    """List sessions on an event loop of this thread: ADK makes an object for each session, without a pause.

    A list of 50,000 would block the server's loop for seconds.
    """
    return asyncio.run(service.list_sessions(app_name=app_name, user_id=user_id))


async def _list_memory(
    service: InMemorySessionService, app_name: str, user_id: str | None
) -> ListSessionsResponse:
    """List sessions in a thread while others change them.

    ADK copies each session. If one changes while it is copied, Python raises `RuntimeError`, and the list is
    made again; after some attempts on the event loop, where nothing changes meanwhile.
    """
    for _ in range(_ATTEMPTS):
        with suppress(RuntimeError):
            return await asyncio.to_thread(_list_in_thread, service, app_name, user_id)
    return await service.list_sessions(app_name=app_name, user_id=user_id)


@contextmanager
def _driver_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        problem = _problem(error)
        if problem is None:
            raise
        raise NoSessions(_unusable_because(problem)) from error


def _unusable_because(problem: str) -> str:
    return f"The sessions cannot be read or written: {problem}."


def _problem(error: BaseException) -> str | None:
    """Return what is wrong with the store; None for an error that has another cause."""
    state = _state(error)
    if state:
        return next((words for begin, words in _STATES.items() if state.startswith(begin)), None)
    if isinstance(error, OSError):
        return _DISCONNECTED
    if isinstance(error, sqlite3.OperationalError):
        return _UNUSABLE
    # SQLAlchemy is imported by a service that needs it, and not for the others. Its names are PEP 249's.
    names = {
        kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith("sqlalchemy")
    }
    return _DISCONNECTED if names & {"OperationalError", "InterfaceError", "TimeoutError"} else None


def _is_half_made(error: Exception) -> bool:
    """Return whether another process is creating the tables: without a version, ADK raises `ValueError`."""
    return isinstance(error, ValueError) or _state(error) in _MADE_MEANWHILE


def _state(error: BaseException) -> str:
    """Return the SQL state that a driver gave; SQLAlchemy holds the driver's error."""
    for each in (error, getattr(error, "orig", None)):
        state = getattr(each, "sqlstate", None)
        if isinstance(state, str):
            return state
    return ""


# ---------------------------------------------------------------------------
# Queries over a session's events: which ones were rewound, which are copies, where a call was made.

USER = "user"

COPY = "copy-"
"""How the id of an event begins that was rewound and brought back (`undo_rewind`)."""


def is_copy(event: Event) -> bool:
    """Return whether an event is a copy: the log has the original."""
    return event.id.startswith(COPY)


def live_events(session: Session) -> list[Event]:
    """Return the events without rewound ones."""
    return apply_rewinds(session.events)


def apply_rewinds(events: Sequence[Event]) -> list[Event]:
    """Return the events without rewound ones, and without the rewinds themselves.

    A rewind removes everything from the first event of the invocation that it names. The last
    rewind counts first: it may remove an earlier one.
    """
    if not any(event.actions.rewind_before_invocation_id for event in events):
        return list(events)
    first = {event.invocation_id: i for i, event in reversed(list(enumerate(events)))}
    live: list[Event] = []
    end = len(events)
    while end:
        end -= 1
        target = events[end].actions.rewind_before_invocation_id
        if not target:
            live.append(events[end])
        else:
            end = min(end, first.get(target, end))
    return live[::-1]


def first_live(events: Sequence[Event], invocations: Sequence[str]) -> str:
    """Return the first of some invocations that has an event that was not rewound; empty if none has."""
    live = {event.invocation_id for event in apply_rewinds(events)}
    return next((each for each in invocations if each in live), "")


def find_call(events: Sequence[Event], call: str) -> Event | None:
    """Return the last event that made this call."""
    for event in reversed(events):
        if any(made.id == call for made in event.get_function_calls()):
            return event
    return None


def user_responses(events: Sequence[Event]) -> frozenset[str]:
    """Return the ids of the calls that the user, or the user's client, has answered."""
    answered = (
        response.id
        for event in events
        if event.author == USER
        for response in event.get_function_responses()
    )
    return frozenset(call for call in answered if call)


def is_message(event: Event) -> bool:
    """Return whether an event is a user's message, and not an answer to a call."""
    is_users = event.author == USER and event.content is not None
    return is_users and not event.get_function_responses()


def is_said(event: Event) -> bool:
    """Return whether an event is more than a change of state."""
    return event.content is not None or event.output is not None or bool(event.error_code)


def user_turns(events: Sequence[Event], invocation: str) -> int:
    """Count the messages that a user typed in an invocation."""
    return sum(event.invocation_id == invocation and is_message(event) for event in events)


# ---------------------------------------------------------------------------
# Events that agent code appends to its session itself, through the session service: they are in the log
# too.
#
# A Runner stores an event and then yields it. What a tool or a callback stores
# (`session_service.append_event`) is never yielded, and the model reads it all the same. So what is
# stored in the session of a run is noted (`session_store`), and what the Runner has not yielded by
# its next event is recorded before that one.
#
# Seen is what goes through the service that ADK gives to the agent. A service that agent code creates
# for itself is not: most of ADK's services let the run fail then, because its session has changed.


class AppendedEvents:
    """What was stored in the session of one run, and not yielded yet."""

    def __init__(self, origin: Origin, compacted: Callable[[Event], None]) -> None:
        """`compacted` is called with the summaries that ADK stores of earlier events."""
        self._compacted = compacted
        self._key = (origin.app, origin.user, origin.session)
        self._pending: dict[str, Event] = {}
        self._recorded: set[str] = set()
        """Ids of those that were recorded although nobody had yielded them."""
        self.has_begun = False
        """The Runner has stored the user's message: what it stores from now on, it yields."""

    def note(self, session: Session, event: Event) -> None:
        """Note an event that was stored."""
        if not self.has_begun or (session.app_name, session.user_id, session.id) != self._key:
            return
        if event.actions.compaction is not None:
            self._compacted(event)
        else:
            self._pending[event.id] = event

    def take(self, yielded: Event | None) -> list[Event]:
        """Return what was stored before an event that the Runner yields, or its end, and never yielded.

        It is marked: ADK's own protocol does not have such events.
        """
        if yielded is not None:
            self._pending.pop(yielded.id, None)
        found = list(self._pending.values())
        self._pending.clear()
        self._recorded.update(event.id for event in found)
        return [_marked(event) for event in found]

    def is_recorded(self, event: Event) -> bool:
        """Return whether an event that is yielded has been recorded before."""
        return event.id in self._recorded


def _marked(event: Event) -> Event:
    metadata = {**(event.custom_metadata or {}), MARK: True}
    return event.model_copy(update={"custom_metadata": metadata})


APPENDED: ContextVar[AppendedEvents | None] = ContextVar("adk_prism_appended", default=None)
"""Of the run that is driven: set where its Runner takes a step, and in all that it starts."""
