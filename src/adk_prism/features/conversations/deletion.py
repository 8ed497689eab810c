"""Removes conversations that users have deleted, once they can no longer be restored."""

from __future__ import annotations

from adk_prism.adk.apps import Apps
from adk_prism.errors import Diagnostic, PrismError, Report, cause_of
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Origin
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.runs.session_log import Deletions
from adk_prism.server.lifecycle import remove_session

REMOVAL = 60.0
"""Seconds between two looks for deleted conversations that can be removed."""


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
