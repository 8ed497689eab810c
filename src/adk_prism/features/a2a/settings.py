"""Whether agents are served over A2A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adk_prism.server.options import FLAG, FeatureSettings


@dataclass(frozen=True, kw_only=True)
class A2aSettings(FeatureSettings):
    """Whether agents are served over A2A."""

    title: ClassVar[str] = "Server"
    a2a: bool = FLAG.option(
        "serve the apps that have an agent card (`agent.json`) over A2A, at /a2a/APP;"
        " needs google-adk[a2a]"
    )
