"""The protocols that come with adk-prism. Others can be installed: `pipeline.protocols` knows them all."""

from __future__ import annotations

from typing import Any

from adk_prism.projection import adk, ag_ui, ai_sdk, studio
from adk_prism.projection.contract import ProtocolSpec

BUILT_IN: tuple[ProtocolSpec[Any], ...] = (adk.SPEC, ai_sdk.SPEC, studio.SPEC, ag_ui.SPEC)
