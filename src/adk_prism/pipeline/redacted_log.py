"""The log as writers see it: what they append has lost its secrets before it is there."""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.runlog.contract import Receipt, RunLog
from adk_prism.runlog.entry import Record, RunId
from adk_prism.runlog.proxy import LogProxy
from adk_prism.source.secrets import Secrets


class RedactedLog(LogProxy):
    """Appends without secrets."""

    def __init__(self, log: RunLog, secrets: Secrets) -> None:
        super().__init__(log)
        self._redact = secrets.record

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        """Append what may be seen."""
        return await self._log.append(
            run, [self._redact(record) for record in records], epoch=epoch, times=times
        )
