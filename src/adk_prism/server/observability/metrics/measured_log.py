"""The run log as whoever records a run sees it: how long it takes is measured."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from adk_prism.runlog.contract import Receipt, RunLog
from adk_prism.runlog.entry import Record, RunId
from adk_prism.runlog.proxy import LogProxy
from adk_prism.server.observability.metrics.metrics import Metrics


class MeasuredLog(LogProxy):
    """Measures."""

    def __init__(self, log: RunLog, metrics: Metrics) -> None:
        super().__init__(log)
        self._appended = metrics.appends.observe
        self._committed = metrics.commits.observe

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        """Append to the log."""
        began = perf_counter()
        receipt = await self._log.append(run, records, epoch=epoch, times=times)
        self._appended(perf_counter() - began)
        return receipt

    async def commit(self, run: RunId) -> None:
        """Wait until the log has it."""
        began = perf_counter()
        await self._log.commit(run)
        self._committed(perf_counter() - began)
