"""A session store that is unavailable, full or refuses access: one error for all databases.

ADK's services raise their driver's errors. This module decides which of them mean that the store cannot be
used, and why, so that a request is answered with 503 and a run ends with a code. The driver's own text may
name hosts, users and statements: it goes to the operator only, as the cause.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_prism.errors import NoSessions
from adk_prism.source.adk.session_storage import sqlite_file
from adk_prism.source.appended_events import APPENDED
from adk_prism.source.session_tables import mend_events

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
        with _driver_errors():
            try:
                return await self.inner.get_session(
                    app_name=app_name, user_id=user_id, session_id=session_id, config=config
                )
            except (ValueError, RecursionError):
                # An event that ADK has written and cannot read.
                if not await mend_events(self.inner, (app_name, user_id, session_id)):
                    raise
            return await self.inner.get_session(
                app_name=app_name, user_id=user_id, session_id=session_id, config=config
            )

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
