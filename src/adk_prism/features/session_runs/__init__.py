"""Turns of ADK sessions that are not in the run log: shown, and gone on with, as runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension

if TYPE_CHECKING:
    from adk_prism.adk.apps import Apps
    from adk_prism.adk.secrets import Secrets
    from adk_prism.errors import Report
    from adk_prism.runs.session_log import ReadableLog


def _complete(log: ReadableLog, apps: Apps, secrets: Secrets, report: Report) -> ReadableLog:
    from adk_prism.features.session_runs.session_log import SessionLog

    return SessionLog(log.log, log.deletions, apps, secrets, report)


EXTENSION = Extension(
    name="session_runs",
    summary="show what other servers stored in ADK's sessions, and what retention removed",
    readable_log=_complete,
)
