"""Conversations as their users keep them: a list with names and pins, deletion and restoring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.conversations.listing import (
        REMOVAL,
        DeletedSessions,
        ListRoutes,
        routes,
    )
    from adk_prism.server.lifecycle import housekeeping

    recording, runs, report = context.recording, context.runs, context.report
    job = DeletedSessions(context.apps, runs.locks, recording.log, runs.deletions, report)
    context.lifecycle.hold(
        lambda: housekeeping([job], recording.leases, report, REMOVAL, "deleted conversations")
    )
    return Served(routers=[ListRoutes(context).router(), routes(context)])


EXTENSION = Extension(
    name="conversations",
    summary="list, name, pin, delete and restore conversations",
    requires=("forks",),
    serve=_serve,
)
