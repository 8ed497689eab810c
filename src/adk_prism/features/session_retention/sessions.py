"""Removes unused sessions with their artifacts and runs.

A session is as old as its last change, by ADK's own account. One that is in use is left alone. What belongs
to the user, `user:` artifacts and state, stays: other sessions have it too.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session

from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.log_lines import sqlite_file
from adk_prism.adk.session_store import storage_of
from adk_prism.errors import Report
from adk_prism.features.run_retention.runs import Announcer, RetentionGuard
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Origin
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.server.lifecycle import remove_session

VACUUM_PAGES = 4096
"""Pages that are freed at a time, 16 MiB: it blocks other writers for some tenths of a second."""

_BUSY_SECONDS = 5.0

_NO_EVENTS = GetSessionConfig(num_recent_events=0)


class SessionRetention:
    """Removes sessions of every app."""

    def __init__(
        self,
        apps: Apps,
        locks: SessionLocks,
        log: RunLog,
        max_age: float,
        report: Report,
        guard: RetentionGuard | None = None,
    ) -> None:
        self._apps = apps
        self._locks = locks
        self._log = log
        self._guard = guard or RetentionGuard(max_age)
        self._announcer = Announcer("sessions", self._guard.share, report)
        self._first_seen: dict[tuple[str, str, str], float] = {}
        """Sessions whose last change lies in the future, and when they were first seen."""

    async def __call__(self) -> None:
        """Look once. Raise `NoSessions` or `LogError`."""
        limit = self._guard.look()
        found = [
            session
            for name in self._apps.names()
            if self._apps.keeps_sessions(name)
            for session in await self._apps.sessions(name).list(name, "")
        ]
        before, changed = self._guard.seems_old, self._changed(found)
        self._announcer.announce(sum(time < before for time in changed), len(found))
        if limit is None:
            return
        dated = sorted(zip(changed, range(len(found)), strict=True))
        old = [found[index] for time, index in dated if time < limit]
        for session in old[: self._guard.allowance(len(found))]:
            if await self._remove(session, limit):
                self._guard.note(1)
                self._announcer.removed(1)
        if old:
            await self._shrink()

    def _changed(self, found: Sequence[Session]) -> list[float]:
        """Return when sessions were last changed.

        ADK takes the time of a session's last event, which a client may have written: a time that has not
        come yet is replaced by that at which the session was first seen here.
        """
        now, before = time.time(), self._first_seen
        self._first_seen = {}
        changed = []
        for session in found:
            last = session.last_update_time
            if last > now:
                name = (session.app_name, session.user_id, session.id)
                last = self._first_seen[name] = before.get(name, now)
            changed.append(last)
        return changed

    async def _remove(self, session: Session, limit: float) -> bool:
        """Remove a session unless it is in use, or was used since it was listed."""
        origin = Origin(app=session.app_name, user=session.user_id, session=session.id)
        if not await self._locks.try_acquire(origin, _stop_nothing):
            return False
        try:
            now = await self._apps.session_service(origin.app).get_session(
                app_name=origin.app,
                user_id=origin.user,
                session_id=origin.session,
                config=_NO_EVENTS,
            )
            if now is None or limit <= now.last_update_time <= time.time():
                return False
            await remove_session(self._apps, self._log, origin)
        finally:
            await self._locks.release(origin)
        return True

    async def _shrink(self) -> None:
        services = {
            storage_of(self._apps.session_service(name))
            for name in self._apps.names()
            if self._apps.keeps_sessions(name)
        }
        for file in filter(None, map(sqlite_file, services)):
            await asyncio.to_thread(shrink_session_file, file)


def _stop_nothing() -> None:
    """Lock the session while it is removed, which takes a moment."""


def shrink_session_file(file: Path) -> None:
    """Give free pages back to the file system. Raise `sqlite3.Error`."""
    with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
