"""Where diagnostics go: lines on stderr, for a person or for a machine.

Decides how a diagnostic looks and which of the libraries' own log records are worth a line. ADK
and uvicorn speak from warnings up; ADK's notes that a feature is experimental are left out, since
they are about our code, not about the operator's. OpenTelemetry is left as the host set it up.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.server.operating.one_line import one_line
from adk_prism.server.settings import LogFormat

_DELIBERATE = "ASGI callable returned without completing response."
"""What uvicorn says of a stream that we cut on purpose, so that its client comes back."""

_FIELDS = ("correlation", "request", "app", "run")


def sink(form: LogFormat, stream: TextIO | None = None) -> Report:
    """Return a report that writes each diagnostic as one line (text: its cause below it)."""
    render = _as_json if form == "json" else _as_text

    def report(diagnostic: Diagnostic) -> None:
        # Looked up late: whoever replaces sys.stderr means its next line, too.
        print(render(diagnostic), file=stream or sys.stderr, flush=True)

    return report


def route_logging(report: Report) -> None:
    """Turn the libraries' log records, from warnings up, into diagnostics. For our own process."""
    logging.basicConfig(level=logging.WARNING, handlers=[_Bridge(report)], force=True)
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
                detail=f"{record.name}: {record.getMessage()}",
                cause=cause_of(error) if error else "",
            )
        )


def _as_text(diagnostic: Diagnostic) -> str:
    words = [diagnostic.kind]
    words += [f"{name}={value}" for name in _FIELDS if (value := getattr(diagnostic, name))]
    line = " ".join(words) + (f": {diagnostic.detail}" if diagnostic.detail else "")
    cause = "".join(f"\n    {one_line(row)}" for row in diagnostic.cause.splitlines())
    return f"{_now():%H:%M:%S} {one_line(line)}{cause}"


def _as_json(diagnostic: Diagnostic) -> str:
    fields = {"time": _now().isoformat(), **msgspec.to_builtins(diagnostic)}
    # Not msgspec: a text may hold half a surrogate pair, which only an ASCII writer can write.
    return json.dumps(fields)


def _now() -> datetime:
    return datetime.now(UTC)
