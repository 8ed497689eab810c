"""Observability of one server: diagnostics, metrics, request tracking, the audit log."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO, TypeVar

import msgspec

from adk_prism.adk.secrets import Secrets, secret_values
from adk_prism.adk.stream_redaction import RunRedaction
from adk_prism.errors import Diagnostic, Report, cause_of
from adk_prism.extension import chosen
from adk_prism.log.entry import Origin, RunEnded
from adk_prism.runs.session_log import AuditedAction, WriteAudit
from adk_prism.server.problems import ErrorRule, ErrorTexts
from adk_prism.server.request_tracking import RequestTracker, TrackedRequest, in_call
from adk_prism.server.setting_groups import LogFormat, LogLevel
from adk_prism.server.settings import Settings

# ---------------------------------------------------------------------------
# Where diagnostics go: lines on stderr, for a person or for a machine.
#
# Decides how a diagnostic looks and which log records are worth a line. The apps' own loggers write
# from `--log-level` up, as under `adk web`; libraries from warnings up, and with `debug` ADK from
# there. The access log is a feature (`--access-log`), so uvicorn's stays off. ADK's notes that a feature
# is experimental are left out, since they are about our code, not about the operator's. OpenTelemetry
# is left as the host set it up.

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


# ---------------------------------------------------------------------------


class AuditLog:
    """Takes what callers did to runs and sessions; `writers`, which features add, keep it."""

    def __init__(self) -> None:
        self.writers: list[WriteAudit] = []

    async def note(self, action: AuditedAction) -> None:
        """Have an action written; return once it is."""
        for write in self.writers:
            await write(action)


class Meter:
    """Counts what happens in a server; this one counts nothing."""

    def reported(self, diagnostic: Diagnostic) -> None:
        """Count a diagnostic."""

    def call_ended(self, call: TrackedRequest) -> None:
        """Count a request or socket that is over."""

    def refused(self, limit: str) -> None:
        """Count a request beyond a limit."""

    def run_began(self, origin: Origin, *, taken_over: bool) -> None:
        """Count a run that is recorded here from now on."""

    def run_ended(self, origin: Origin, end: RunEnded | None, seconds: float) -> None:
        """Count a run that is no longer recorded here; without an end, another process has it."""

    def appended(self, seconds: float) -> None:
        """Note how long it took to write a group of entries."""

    def committed(self, seconds: float) -> None:
        """Note after how long an entry was durable."""


@dataclass(frozen=True, slots=True)
class Observability:
    """What an operator sees of a server."""

    report: Report
    """Reports a diagnostic: without secrets, counted, with the id of its request."""
    meter: Meter
    audit: AuditLog
    calls: RequestTracker
    errors: ErrorTexts
    """The full texts of errors, for callers who may see them."""
    secrets: Secrets
    """What is removed from everything that is stored or reported."""
    listens: bool = False
    """This process was started as a server (`adk-prism serve`): its options say who can reach it."""


def open_observability(
    settings: Settings, secrets: Secrets, report: Report | None, *, listens: bool = False
) -> Observability:
    """Return the observability of a server."""
    meter = chosen(settings.without).meter() or Meter()
    errors = ErrorTexts(error_rule(settings, listens=listens))
    write = report or sink(settings.log_format)

    def write_and_keep(diagnostic: Diagnostic) -> None:
        meter.reported(diagnostic)
        errors.keep(diagnostic)
        write(diagnostic)

    complete = in_call(secrets.redacting(write_and_keep))
    calls = RequestTracker([meter.call_ended])
    return Observability(complete, meter, AuditLog(), calls, errors, secrets, listens)


def error_rule(settings: Settings, *, listens: bool) -> ErrorRule:
    """Return who gets the full texts of errors.

    By default callers on this machine, if no setting indicates other callers: the server itself listens on a
    loopback address, without authentication, other names, other origins and proxies. If the server is part of
    a program, which may listen anywhere: nobody.
    """
    if settings.errors:
        return settings.errors
    others = (
        settings.has_identity
        or settings.public_url
        or settings.allow_origin
        or settings.allow_host
        or settings.root_path
        or settings.trusted_proxy
    )
    return "unforwarded" if listens and settings.is_loopback and not others else "reference"


def secrets_of(settings: Settings) -> Secrets:
    """Return what is secret in this process."""
    urls = (settings.log, settings.sessions, settings.artifacts, settings.memory)
    given = secret_values(os.environ, urls)
    return Secrets({*given, *settings.secrets}, settings.redact, settings.reveal)


def redaction_of_a_run(secrets: Secrets) -> RunRedaction:
    """Return what redacts the records of a run, with what the environment has become since the start."""
    secrets.learn_variables(os.environ)
    return RunRedaction(secrets)


# ---------------------------------------------------------------------------
# The price list that the settings name.
