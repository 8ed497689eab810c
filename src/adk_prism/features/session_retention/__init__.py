"""Removes sessions that nobody uses, if the operator has said after how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import SPAN, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class SessionRetentionSettings(FeatureSettings):
    """How long unused sessions are kept."""

    title: ClassVar[str] = "Storage"
    retention_sessions: float = SPAN.option(
        "how long an unused session is kept, with its artifacts and runs (default: until someone"
        " deletes it)"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.session_retention.sessions import SessionRetention
    from adk_prism.server.lifecycle import housekeeping

    age = context.settings.of(SessionRetentionSettings).retention_sessions
    if age:
        log, leases, report = context.recording.log, context.recording.leases, context.report
        job = SessionRetention(context.apps, context.runs.locks, log, age, report)
        context.lifecycle.hold(lambda: housekeeping([job], leases, report, name="old sessions"))
    return Served()


EXTENSION = Extension(
    name="session_retention",
    summary="remove sessions that nobody uses (--retention-sessions)",
    requires=("run_retention",),
    serve=_serve,
    settings=lambda: SessionRetentionSettings,
)
