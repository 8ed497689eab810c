"""Where runs are sent as traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adk_prism.server.options import URL, FeatureSettings


@dataclass(frozen=True, kw_only=True)
class OtlpSettings(FeatureSettings):
    """Where runs are sent as traces."""

    title: ClassVar[str] = "Logging"
    otlp: str = URL.option(
        "send every run that has ended as a trace to this OpenTelemetry collector, over HTTP"
    )
