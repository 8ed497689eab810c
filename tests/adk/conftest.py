"""The session services that every rule must hold on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

SERVICES = ["memory", "sqlite", "database"]


@pytest.fixture(params=SERVICES)
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    file = tmp_path / "sessions.db"
    match request.param:
        case "memory":
            yield InMemorySessionService()
        case "sqlite":
            yield SqliteSessionService(str(file))
        case _:
            database = DatabaseSessionService(f"sqlite+aiosqlite:///{file}")
            yield database
            await database.close()
