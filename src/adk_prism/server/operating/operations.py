"""What the operator has of one server: what it is told, what is counted, and what is written down."""

from __future__ import annotations

from dataclasses import dataclass

from adk_prism.diagnostics import Report
from adk_prism.server.operating.access_log import access_log
from adk_prism.server.operating.audit.trail import Trail, open_trail
from adk_prism.server.operating.calls import Calls, Ended, in_call
from adk_prism.server.operating.diagnostics_sink import sink
from adk_prism.server.operating.metrics.metrics import Metrics
from adk_prism.server.settings import Settings
from adk_prism.source.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Operations:
    """The operator's side of a server."""

    report: Report
    """Tells the operator: without secrets, counted, with the request that it is about."""
    metrics: Metrics
    audit: Trail
    calls: Calls


def open_operations(settings: Settings, secrets: Secrets, report: Report | None) -> Operations:
    """Return the operator's side. Raise `LogError` for an audit trail that cannot be written."""
    metrics = Metrics()
    told = in_call(metrics.counting(secrets.telling(report or sink(settings.log_format))))
    ended: list[Ended] = [metrics.call_ended]
    if settings.access_log:
        ended.append(access_log(settings.log_format))
    return Operations(told, metrics, open_trail(settings.audit, told), Calls(ended))
