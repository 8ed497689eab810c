"""How many events a session has in storage, for the three services of ADK whose storage is known.

If the newest events are known, the count shows that nothing was inserted among the older ones: a clock
that is behind gives an event an earlier time than those before it. ADK itself never counts.
"""

from __future__ import annotations

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_prism.source.adk.session_storage import sqlite_connection

SessionKey = tuple[str, str, str]
"""App, user and session."""


async def count_events(service: BaseSessionService, key: SessionKey) -> int | None:
    """Return the number of a session's events; None if the storage is unknown."""
    if isinstance(service, InMemorySessionService):
        app_name, user_id, session_id = key
        found = service.sessions.get(app_name, {}).get(user_id, {}).get(session_id)
        return len(found.events) if found is not None else None
    in_sqlite = await _count_in_sqlite(service, key)
    return in_sqlite if in_sqlite is not None else await _count_in_database(service, key)


async def _count_in_sqlite(service: BaseSessionService, key: SessionKey) -> int | None:
    connection = sqlite_connection(service)
    if connection is None:
        return None
    where = "WHERE app_name=? AND user_id=? AND session_id=?"
    async with (
        connection as db,
        db.execute(f"SELECT COUNT(*) FROM events {where}", key) as rows,
    ):
        row = await rows.fetchone()
    return int(row[0]) if row is not None else None


async def _count_in_database(service: BaseSessionService, key: SessionKey) -> int | None:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.adk.sessions.schemas.v1 import StorageEvent
    from sqlalchemy import func, select

    if not isinstance(service, DatabaseSessionService):
        return None
    app_name, user_id, session_id = key
    which = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
    async with service.database_session_factory() as sql:
        query = select(func.count()).select_from(StorageEvent).filter_by(**which)
        return await sql.scalar(query)
