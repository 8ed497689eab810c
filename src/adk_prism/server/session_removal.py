"""Removes sessions completely: artifacts, ADK's session, runs. What belongs to the user stays.

`user:` artifacts and state are the user's: other sessions have them too.
"""

from __future__ import annotations

from contextlib import suppress

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import NotFound, PrismError
from adk_prism.pipeline.deletions import Deletions
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin
from adk_prism.server.guards.name_rules import USER_SCOPE
from adk_prism.source.apps import Apps


async def remove_session(apps: Apps, log: RunLog, origin: Origin) -> None:
    """Remove a session that the caller has locked. Of an app that is gone, only the log has something."""
    with suppress(NotFound):
        await _remove_artifacts(apps, origin)
        await apps.sessions(origin.app).delete(origin)
    await log.delete_session(origin)


async def _remove_artifacts(apps: Apps, origin: Origin) -> None:
    service = apps.artifact_service(origin.app)
    if service is None:
        return
    where = {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}
    for name in await service.list_artifact_keys(**where):
        if not name.startswith(USER_SCOPE):
            await service.delete_artifact(**where, filename=name)


class DeletedSessions:
    """Removes the conversations that users have deleted, once they can no longer be restored."""

    def __init__(
        self, apps: Apps, locks: SessionLocks, log: RunLog, deletions: Deletions, report: Report
    ) -> None:
        self._apps = apps
        self._locks = locks
        self._log = log
        self._deletions = deletions
        self._report = report

    async def __call__(self) -> None:
        """Look once. Raise `LogError`."""
        for origin in await self._deletions.due():
            try:
                await self._remove(origin)
            except PrismError as error:  # A remote app may be away; the next look finds it again.
                self._report(Diagnostic(kind="conversation not removed", cause=cause_of(error)))

    async def _remove(self, origin: Origin) -> None:
        await self._locks.stop(origin)
        async with self._locks.held(origin):
            if origin in await self._deletions.due():  # It may have been restored meanwhile.
                await remove_session(self._apps, self._log, origin)
                await self._deletions.forget(origin)
