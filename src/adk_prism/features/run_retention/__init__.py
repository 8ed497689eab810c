"""Removes runs from the log after a time, and when they take too much space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import SIZE, SPAN, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class RunRetentionSettings(FeatureSettings):
    """How long runs are kept."""

    title: ClassVar[str] = "Storage"
    retention_age: float = SPAN.option("how long a run is kept after its end", 30 * 24 * 3600.0)
    retention_size: int = SIZE.option(
        "largest size of the run log; above it the oldest ended runs of whoever has most are deleted",
        2 * 1024**3,
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.run_retention.runs import RemovedRuns, RunRetention
    from adk_prism.log.contract import Retention
    from adk_prism.server.lifecycle import housekeeping

    settings = context.settings.of(RunRetentionSettings)
    limits = Retention(max_age=settings.retention_age, max_bytes=settings.retention_size)
    recording, report = context.recording, context.report
    told = RemovedRuns(report, context.audit.note, limits.max_bytes)
    recording.observers.removals.append(told.removed)
    job = RunRetention(recording.log, limits, report)
    context.lifecycle.hold(lambda: housekeeping([job], recording.leases, report))
    return Served(describe_log=lambda: {"maxAge": limits.max_age, "maxBytes": limits.max_bytes})


EXTENSION = Extension(
    name="run_retention",
    summary="remove old runs, and the oldest when there are too many (--retention-age, --retention-size)",
    serve=_serve,
    settings=lambda: RunRetentionSettings,
)
