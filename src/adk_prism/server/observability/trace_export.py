"""Sends every run that has ended to an OpenTelemetry collector (`--otlp`), as `adk-prism export` does.

One task, a run after the other; what it computes, it computes in a thread. A collector that is away costs the
traces of that time, and a line for the operator; no run waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from urllib.parse import urlsplit

import httpx

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import Gone, NotFound, UsageError
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.cancel_task import cancel_task
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.transport.otlp import trace_request
from adk_prism.version import VERSION
from adk_prism.view.exported_spans import exported_spans

MOST_WAITING = 1000
"""Runs that wait to be sent; what ends beyond that is not sent."""

LARGEST = 64 * 1024**2
"""Bytes of a run that is sent: a larger one would have to be held in memory."""

PATIENCE = 30.0
"""Seconds for the collector to answer."""


def otlp_address(url: str) -> str:
    """Return where traces are posted to; `/v1/traces` is added to a bare address. Raise `UsageError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--otlp must be a URL such as http://127.0.0.1:4318, got {url[:80]!r}.")
    bare = not parts.path.strip("/")
    return parts._replace(path="/v1/traces").geturl() if bare else url


class TraceExport:
    """Exports the runs of a log."""

    def __init__(self, log: RunLog, url: str, report: Report) -> None:
        self._log = log
        self._calls = ModelCalls(log)
        self._url = otlp_address(url)
        self._report = report
        self._waiting: asyncio.Queue[RunId] = asyncio.Queue(MOST_WAITING)

    def ended(self, run: RunId) -> None:
        """Note that a run has ended."""
        if self._waiting.full():
            self._tell("Too many runs wait for the collector.", run)
        else:
            self._waiting.put_nowait(run)

    @asynccontextmanager
    async def exporting(self) -> AsyncIterator[None]:
        """Export runs while the block runs."""
        task = asyncio.create_task(self._work())
        try:
            yield
        finally:
            await cancel_task(task)

    async def _work(self) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            while True:
                run = await self._waiting.get()
                try:
                    await self._export(client, run)
                except (NotFound, Gone):
                    pass  # Removed since.
                except Exception as error:  # Whatever it is, the next run is exported.
                    self._tell("", run, cause_of(error))

    async def _export(self, client: httpx.AsyncClient, run: RunId) -> None:
        if (await self._log.summary(run)).bytes > LARGEST:
            self._tell("The run is too large.", run)
            return
        async with aclosing(self._log.read(run)) as batches:
            entries = [entry async for batch in batches for entry in batch]
        body = await asyncio.to_thread(_body, await self._calls.filled(run, entries))
        if body:
            headers = {"content-type": "application/x-protobuf"}
            answer = await client.post(self._url, content=body, headers=headers)
            if not answer.is_success:
                self._tell(f"The collector answered {answer.status_code}.", run)

    def _tell(self, detail: str, run: RunId, cause: str = "") -> None:
        self._report(Diagnostic(kind="trace not exported", detail=detail, run=run, cause=cause))


def _body(entries: list[Entry]) -> bytes:
    spans = exported_spans(entries)
    if not spans:
        return b""
    return trace_request(spans, str(spans[0].attributes["gen_ai.agent.name"]), VERSION)
