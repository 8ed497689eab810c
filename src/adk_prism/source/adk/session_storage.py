"""How ADK's session services store sessions: the SQLite file and connection, and the revision mark."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from adk_prism.source.adk.capability import Capability, require

Revision = tuple[float, str | None]


def session_revision(session: Session) -> Revision:
    """Return what changes with every write to the stored session."""
    return session.last_update_time, getattr(session, "_storage_update_marker", None)


def sqlite_file(service: BaseSessionService) -> Path | None:
    """Return the file of ADK's SQLite service once its tables exist; None for any other service.

    The service opens a connection for each query, so other threads may use the file.
    """
    path = getattr(service, "_db_path", "")
    is_ready = getattr(service, "_schema_ready", False)
    if type(service) is not SqliteSessionService or path in ("", ":memory:") or not is_ready:
        return None
    return Path(path)


def sqlite_connection(service: BaseSessionService) -> AbstractAsyncContextManager[Any] | None:
    """Open a connection to the database of ADK's SQLite service; None for any other service."""
    connect = getattr(service, "_get_db_connection", None)
    return connect() if isinstance(service, SqliteSessionService) and connect else None


def _probe() -> None:
    path = str(Path(gettempdir()) / "adk-prism-probe" / "none.db")
    service = SqliteSessionService(path)  # opens no file
    require(getattr(service, "_db_path", "") == path, "SqliteSessionService has no _db_path.")
    require(
        getattr(service, "_schema_ready", None) is False,
        "SqliteSessionService has no _schema_ready.",
    )
    require(
        callable(getattr(service, "_get_db_connection", None)),
        "SqliteSessionService has no _get_db_connection.",
    )
    require(
        "_storage_update_marker" in Session.__private_attributes__,
        "Session has no _storage_update_marker.",
    )


CAPABILITY = Capability(
    name="session storage",
    summary="count events, remove state keys and list sessions off the event loop in ADK's SQLite store",
    without="sessions are read in full after another process wrote; a rewind leaves added keys as null",
    probe=_probe,
)
