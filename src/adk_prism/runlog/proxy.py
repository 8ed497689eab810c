"""A run log that forwards everything to another: the base of logs that change a few methods."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from adk_prism.runlog.contract import (
    Census,
    LogObserver,
    Receipt,
    Redact,
    Retention,
    RunLog,
    RunSummary,
)
from adk_prism.runlog.entry import Entry, Origin, Record, RunId


class LogProxy:
    """Is a `RunLog`; a subclass overrides what it changes."""

    def __init__(self, log: RunLog) -> None:
        self._log = log

    def attach(self, *, redact: Redact | None = None, observer: LogObserver | None = None) -> None:
        """Attach to the log."""
        self._log.attach(redact=redact, observer=observer)

    async def open(self) -> None:
        """Open the log."""
        await self._log.open()

    async def close(self) -> None:
        """Close the log."""
        await self._log.close()

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        """Append to the log."""
        return await self._log.append(run, records, epoch=epoch, times=times)

    async def commit(self, run: RunId) -> None:
        """Wait for the log."""
        await self._log.commit(run)

    async def leave(self, run: RunId) -> None:
        """Stop writing a run."""
        await self._log.leave(run)

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Read the log."""
        return self._log.read(run, after, follow=follow)

    async def summary(self, run: RunId) -> RunSummary:
        """Ask the log."""
        return await self._log.summary(run)

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Ask the log."""
        return await self._log.list(app=app, user=user, session=session, unended=unended)

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        """Trim the log."""
        return await self._log.trim(retention, now)

    async def census(self, before: float) -> Census:
        """Ask the log."""
        return await self._log.census(before)

    async def probe(self) -> None:
        """Ask the log."""
        await self._log.probe()

    async def delete_session(self, origin: Origin) -> Sequence[RunId]:
        """Delete from the log."""
        return await self._log.delete_session(origin)
