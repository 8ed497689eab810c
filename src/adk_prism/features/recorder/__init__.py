"""Runs that happen in other processes: the recorder plugin sends them here, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.recorder import runs as recorder
    from adk_prism.features.recorder.runs import LOST, RecordedRuns
    from adk_prism.runs.session_locks import SessionLocks
    from adk_prism.server.lifecycle import housekeeping, opened

    settings, lifecycle, report = context.settings, context.lifecycle, context.report
    recording = context.recording
    marks = recording.coordination.values() if recording.coordination.is_shared else None
    if marks is not None:
        lifecycle.hold(lambda: opened(marks))
    recorded = RecordedRuns(
        recording.log,
        SessionLocks(recording.leases, "record"),
        report,
        most_bytes=settings.upload_limit,
        calls=recording.calls,
        marks=marks,
    )
    lifecycle.hold(
        lambda: housekeeping([recorded.settle], recording.leases, report, LOST / 6, "recorders")
    )
    return Served(routers=[recorder.routes(recorded, lifecycle)], upload_paths=[recorder.PATH])


EXTENSION = Extension(
    name="recorder",
    summary="record runs of other processes",
    requires=("captures", "model_calls"),
    serve=_serve,
)
