"""Sends every run that has ended to an OpenTelemetry collector (`--otlp`), as `adk-prism export` does.

One task, a run after the other; what it computes, it computes in a thread. A collector that is away costs the
traces of that time, and a line for the operator; no run waits for it.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from adk_prism.errors import Diagnostic, Gone, NotFound, Report, UsageError, cause_of
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.otlp.exported_spans import exported_spans
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, RunId
from adk_prism.log.private_files import cancel_task
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# Spans as the body of an OTLP/HTTP request: protobuf, which every collector takes (opentelemetry-proto
# 1.x).
#
# The few messages of a trace are written by hand: a field is a number, a wire type and a value. Not
# opentelemetry's exporter: it needs five more packages, and hides how the collector answered
# (`docs/decisions/0060-kept-by-hand.md`).

_INTERNAL, _ERROR = 1, 2


class OtlpSpan(Protocol):
    """What a span must have."""

    @property
    def trace(self) -> bytes: ...
    @property
    def id(self) -> bytes: ...
    @property
    def parent(self) -> bytes: ...
    @property
    def name(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def error(self) -> str | None: ...


def trace_request(spans: Iterable[OtlpSpan], service: str, version: str) -> bytes:
    """Return an `ExportTraceServiceRequest`."""
    scope = _text(1, "adk-prism") + _text(2, version)
    scoped = _field(1, scope) + b"".join(_field(2, _span(span)) for span in spans)
    resource = _attributes(1, {"service.name": service})
    return _field(1, _field(1, resource) + _field(2, scoped))


def _span(span: OtlpSpan) -> bytes:
    return b"".join(
        (
            _field(1, span.trace),
            _field(2, span.id),
            _field(4, span.parent) if span.parent else b"",
            _text(5, span.name),
            _number(6, _INTERNAL),
            _fixed(7, span.start),
            _fixed(8, span.end),
            _attributes(9, span.attributes),
            _field(15, _text(2, span.error) + _number(3, _ERROR))
            if span.error is not None
            else b"",
        )
    )


def _attributes(number: int, attributes: Mapping[str, Any]) -> bytes:
    return b"".join(
        _field(number, _text(1, name) + _field(2, _value(value)))
        for name, value in attributes.items()
    )


def _value(value: Any) -> bytes:
    match value:
        case str():
            return _text(1, value)
        case bool():
            return _number(2, int(value))
        case int():
            return _number(3, value)
        case float():
            return _key(4, 1) + struct.pack("<d", value)
        case list():
            return _field(5, b"".join(_field(1, _value(each)) for each in value))
        case _:
            return _text(1, str(value))


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written in two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, payload: bytes) -> bytes:
    return _key(number, 2) + _varint(len(payload)) + payload


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode(errors="replace"))


def _number(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


def _fixed(number: int, value: int) -> bytes:
    return _key(number, 1) + struct.pack("<Q", value)


# ---------------------------------------------------------------------------

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

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Do nothing: a trace is sent when its run has ended."""

    def changed(self, run: RunId) -> None:
        """Do nothing: a trace has nothing of what is stored beside its run."""

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
