"""Remove state keys from a stored session.

ADK has no way to remove a key: a session service only assigns, so `rewind_async` sets a key that the
rewound part added to None. A tool that reads `state.get("count", 0) + 1` would then fail. So the key is
removed from the stored state, for the three services whose storage is known. Call it only while no run
holds the session: neither events nor the session's revision change, so no reader would notice.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_prism.source.adk.session_storage import sqlite_connection
from adk_prism.source.session_cache import storage_of


async def remove_state_keys(
    service: BaseSessionService, session: Session, keys: Collection[str]
) -> bool:
    """Remove session-scoped keys from the stored state; return whether that was possible."""
    if not keys:
        return True
    service = storage_of(service)
    if isinstance(service, InMemorySessionService):
        stored = service.sessions[session.app_name][session.user_id][session.id]
        for key in keys:
            stored.state.pop(key, None)
        return True
    return await _remove_in_sqlite(service, session, keys) or await _remove_in_database(
        service, session, keys
    )


async def _remove_in_sqlite(
    service: BaseSessionService, session: Session, keys: Collection[str]
) -> bool:
    connection = sqlite_connection(service)
    if connection is None:
        return False
    where = "WHERE app_name=? AND user_id=? AND id=?"
    which = (session.app_name, session.user_id, session.id)
    async with connection as db:
        await db.execute("BEGIN IMMEDIATE")
        async with db.execute(f"SELECT state FROM sessions {where}", which) as rows:
            row = await rows.fetchone()
        if row is not None:
            state = {k: v for k, v in json.loads(row["state"]).items() if k not in keys}
            await db.execute(f"UPDATE sessions SET state=? {where}", (json.dumps(state), *which))
        await db.commit()
    return True


async def _remove_in_database(
    service: BaseSessionService, session: Session, keys: Collection[str]
) -> bool:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.adk.sessions.schemas.v1 import StorageSession

    if not isinstance(service, DatabaseSessionService):
        return False
    which = (session.app_name, session.user_id, session.id)
    async with service.database_session_factory() as sql:
        stored = await sql.get(StorageSession, which, with_for_update=True)
        if stored is not None:
            for key in keys:
                stored.state.pop(key, None)
            await sql.commit()
    return True
