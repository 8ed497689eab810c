"""A file that records who did what to whose run or session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import FILE, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class AuditSettings(FeatureSettings):
    """Where actions are recorded."""

    title: ClassVar[str] = "Logging"
    audit: str = FILE.option(
        "file that records who approved, cancelled, deleted and shared what (default: none)"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.audit.audit_file import open_audit_file, routes

    path = context.settings.of(AuditSettings).audit
    file = open_audit_file(path, context.report) if path else None
    if file is not None:
        context.audit.writers.append(file.note)
    return Served(routers=[routes(file)])


EXTENSION = Extension(
    name="audit",
    summary="record who approved, cancelled, deleted and shared what (--audit)",
    serve=_serve,
    settings=lambda: AuditSettings,
)
