"""A file that records who did what to whose run or session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.features.audit.settings import AuditSettings
    from adk_prism.server.context import Context


def _settings() -> type[AuditSettings]:
    from adk_prism.features.audit.settings import AuditSettings

    return AuditSettings


def _serve(context: Context) -> Served:
    from adk_prism.features.audit.audit_file import open_audit_file, routes
    from adk_prism.features.audit.settings import AuditSettings

    path = context.settings.of(AuditSettings).audit
    file = open_audit_file(path, context.report) if path else None
    if file is not None:
        context.audit.writers.append(file.note)
    return Served(routers=[routes(file)])


EXTENSION = Extension(
    name="audit",
    summary="record who approved, cancelled, deleted and shared what (--audit)",
    serve=_serve,
    settings=_settings,
)
