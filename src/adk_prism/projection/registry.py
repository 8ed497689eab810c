"""The protocols we speak, by name."""

from __future__ import annotations

from typing import Any

import msgspec

from adk_prism.errors import NotBuilt, UsageError
from adk_prism.projection.adk.frames import AdkFrame
from adk_prism.projection.adk.projection import AdkProjection
from adk_prism.projection.ai_sdk import frames as ai_sdk_frames
from adk_prism.projection.ai_sdk.dialects import DIALECTS, dialect
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.projection.ai_sdk.projection import WHOLE, AiSdkProjection, Scope
from adk_prism.projection.contract import Payload, ProtocolSpec

_encode = msgspec.json.Encoder().encode
_DONE = Payload(b"[DONE]")
LATER = ("studio", "ag-ui")
"""Named in the documentation, and not in this version."""


def ai_sdk_payload(frame: ai_sdk_frames.Frame) -> Payload:
    """Return an AI SDK frame as text."""
    return _DONE if type(frame) is ai_sdk_frames.Done else Payload(_encode(frame))


def adk_payload(frame: AdkFrame) -> Payload:
    """Return an ADK frame as text."""
    return Payload(frame.event)


def _ai_sdk_failure(text: str) -> list[Payload]:
    return [ai_sdk_payload(ai_sdk_frames.Error(text)), _DONE]


def _adk_failure(text: str) -> list[Payload]:
    return [
        Payload(_encode({"errorCode": "stream_broken", "errorMessage": text, "author": "system"}))
    ]


def protocol(
    name: str, dialect_name: str = "", files: FileLinks | None = None, scope: Scope = WHOLE
) -> ProtocolSpec[Any]:
    """Look a protocol up. Raise `UsageError` for an unknown one, `NotBuilt` for a later one."""
    if name == "adk":
        if dialect_name:
            raise UsageError(
                f"Protocol 'adk' has no dialects; {dialect_name[:20]!r} was asked for."
            )
        return ProtocolSpec(
            name="adk", make=AdkProjection, payload=adk_payload, failure=_adk_failure
        )
    if name == "ai-sdk":
        speaks = dialect(dialect_name)
        return ProtocolSpec(
            name="ai-sdk",
            make=lambda: AiSdkProjection(speaks, files, scope),
            payload=ai_sdk_payload,
            failure=_ai_sdk_failure,
            headers={"x-vercel-ai-ui-message-stream": "v1"},
        )
    if name in LATER:
        raise NotBuilt(f"Protocol {name!r} is not in this version; use 'adk' or 'ai-sdk'.")
    raise UsageError(f"Protocol {name[:40]!r} is not known; expected 'adk' or 'ai-sdk'.")


def dialects(name: str) -> tuple[str, ...]:
    """Return a protocol's dialects, the default first."""
    return tuple(DIALECTS) if name == "ai-sdk" else ()
