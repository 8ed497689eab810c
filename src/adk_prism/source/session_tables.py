"""What ADK's session services have no method for, done in their storage: count events, remove state keys.

For the three services whose storage is known.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_prism.source.adk.session_storage import sqlite_connection

SessionKey = tuple[str, str, str]
"""App, user and session."""


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
