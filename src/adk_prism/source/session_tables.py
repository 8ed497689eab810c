"""What ADK's session services have no method for, done in their storage: count events, remove state keys,
make events readable again.

For the three services whose storage is known.
"""

from __future__ import annotations

import json
from collections.abc import Collection

import msgspec
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from msgspec import Struct

from adk_prism.runlog.json_bounds import bound_json
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
