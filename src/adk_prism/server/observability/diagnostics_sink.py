"""Where diagnostics go: lines on stderr, for a person or for a machine.

Decides how a diagnostic looks and which log records are worth a line. The apps' own loggers write from
`--log-level` up, as under `adk web`; libraries from warnings up, and with `debug` ADK from there. The access
log is ours (`--access-log`), so uvicorn's stays off. ADK's notes that a feature is experimental are left
out, since they are about our code, not about the operator's. OpenTelemetry is left as the host set it up.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TextIO, TypeVar

import msgspec

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.server.settings import LogFormat, LogLevel

_DELIBERATE = "ASGI callable returned without completing response."
"""What uvicorn logs for a stream that we cut on purpose, so that its client reconnects."""

_FIELDS = ("correlation", "request", "app", "run")
_Told = TypeVar("_Told")


def sink(form: LogFormat, stream: TextIO | None = None) -> Report:
    """Return a report that writes each diagnostic as one line (text: its cause below it)."""
    return writing(_as_json if form == "json" else _as_text, stream)


def writing(render: Callable[[_Told], str], stream: TextIO | None) -> Callable[[_Told], None]:
    """Return what writes something as a line, as it is rendered; by default on stderr."""

    def write(told: _Told) -> None:
        # A line that cannot be written (a closed pipe, a full disk) must not end the run that it is about.
        with suppress(OSError, ValueError):
            # Looked up late, because sys.stderr may be replaced.
            print(render(told), file=stream or sys.stderr, flush=True)

    return write


_ADK = ("google_adk", "google_genai", "google.adk", "google.genai")

_LIBRARIES = (
    *("uvicorn", "websockets", "asyncio", "httpx", "httpcore", "urllib3", "aiohttp", "requests"),
    *("google", "grpc", "opentelemetry", "authlib", "mcp", "LiteLLM", "openai", "anthropic"),
    *("sqlalchemy", "aiosqlite", "asyncpg", "redis", "fastapi", "markdown_it", "multipart"),
)
"""Loggers of libraries, with all below them: below a warning they log about themselves, often several lines
for a request."""

QUIET = (*_LIBRARIES, *_ADK)


def route_logging(report: Report, level: LogLevel = "info") -> None:
    """Make diagnostics of this process's log records: of libraries from warnings, of others from `level`."""
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(level=number, handlers=[_Bridge(report)], force=True)
    for name in QUIET:
        is_wanted = level == "debug" and name in _ADK
        logging.getLogger(name).setLevel(number if is_wanted else max(number, logging.WARNING))
    logging.captureWarnings(True)
    warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]", category=UserWarning)


class _Bridge(logging.Handler):
    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == _DELIBERATE:
            return
        error = record.exc_info[1] if record.exc_info else None
        self._report(
            Diagnostic(
                kind=record.levelname.lower(),
                detail=f"{record.name}: {_message(record)}",
                cause=cause_of(error) if error else "",
            )
        )


def _message(record: logging.LogRecord) -> str:
    """Return the message of a record; unformatted if its arguments do not fit, which is an app's mistake."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args}"


def _as_text(diagnostic: Diagnostic) -> str:
    words = [diagnostic.kind]
    words += [f"{name}={value}" for name in _FIELDS if (value := getattr(diagnostic, name))]
    line = " ".join(words) + (f": {diagnostic.detail}" if diagnostic.detail else "")
    cause = "".join(f"\n    {one_line(row)}" for row in diagnostic.cause.splitlines())
    return f"{now():%H:%M:%S} {one_line(line)}{cause}"


def _as_json(diagnostic: Diagnostic) -> str:
    fields = {"time": now().isoformat(), **msgspec.to_builtins(diagnostic)}
    # Not msgspec: a text may hold half a surrogate pair, which only an ASCII writer can write.
    return json.dumps(fields)


def now() -> datetime:
    """Return the time of a line."""
    return datetime.now(UTC)


def one_line(text: str) -> str:
    """Return a text that cannot end its line or control a terminal: other characters are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
