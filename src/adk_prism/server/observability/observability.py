"""Observability of one server: diagnostics, metrics, request tracking, the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.server.error_text_store import ErrorRule, ErrorTexts
from adk_prism.server.observability.access_log import access_log
from adk_prism.server.observability.audit.audit_log import AuditLog, open_audit_log
from adk_prism.server.observability.diagnostics_sink import sink
from adk_prism.server.observability.metrics.metrics import Metrics
from adk_prism.server.observability.request_tracking import Ended, RequestTracker, in_call
from adk_prism.server.settings import Settings
from adk_prism.source.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Observability:
    """What an operator sees of a server."""

    report: Report
    """Reports a diagnostic: without secrets, counted, with the id of its request."""
    metrics: Metrics
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
    """Return the observability of a server. Raise `LogError` for an audit log that cannot be written."""
    metrics, errors = Metrics(), ErrorTexts(error_rule(settings, listens=listens))
    write = report or sink(settings.log_format)

    def write_and_keep(diagnostic: Diagnostic) -> None:
        errors.keep(diagnostic)
        write(diagnostic)

    complete = in_call(metrics.counting(secrets.redacting(write_and_keep)))
    ended: list[Ended] = [metrics.call_ended]
    if settings.access_log:
        ended.append(access_log(settings.log_format))
    trail = open_audit_log(settings.audit, complete)
    return Observability(complete, metrics, trail, RequestTracker(ended), errors, secrets, listens)


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
