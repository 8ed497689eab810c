"""How long unused sessions are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adk_prism.server.options import SPAN, FeatureSettings


@dataclass(frozen=True, kw_only=True)
class SessionRetentionSettings(FeatureSettings):
    """How long unused sessions are kept."""

    title: ClassVar[str] = "Storage"
    retention_sessions: float = SPAN.option(
        "how long an unused session is kept, with its artifacts and runs (default: until someone"
        " deletes it)"
    )
