"""Where actions are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adk_prism.server.options import FILE, FeatureSettings


@dataclass(frozen=True, kw_only=True)
class AuditSettings(FeatureSettings):
    """Where actions are recorded."""

    title: ClassVar[str] = "Logging"
    audit: str = FILE.option(
        "file that records who approved, cancelled, deleted and shared what (default: none)"
    )
