"""The protocols we speak, by name."""

from __future__ import annotations

from typing import Any

import msgspec

from adk_prism.errors import NotBuilt, UsageError
from adk_prism.projection.adk.frames import AdkFrame, completed_event
from adk_prism.projection.adk.projection import AdkProjection
from adk_prism.projection.ai_sdk import frames as ai_sdk_frames
from adk_prism.projection.ai_sdk.dialects import DIALECTS, dialect
from adk_prism.projection.ai_sdk.error_text import completed
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.projection.ai_sdk.frames import Done
from adk_prism.projection.ai_sdk.projection import AiSdkProjection
from adk_prism.projection.ai_sdk.scope import WHOLE, Scope
from adk_prism.projection.contract import Payload, ProtocolSpec
from adk_prism.projection.studio import frames as studio_frames
from adk_prism.projection.studio.projection import StudioProjection

_encode = msgspec.json.Encoder().encode
_DONE = Payload(b"[DONE]")
LATER = ("ag-ui",)
"""Named in the documentation, and not in this version."""

_KNOWN = "'adk', 'ai-sdk' or 'studio'"
_STREAM_BROKEN = "stream_broken"


def ai_sdk_payload(frame: ai_sdk_frames.Frame) -> Payload:
    """Return an AI SDK frame as text."""
    return _DONE if type(frame) is Done else Payload(_encode(frame))


def adk_payload(frame: AdkFrame) -> Payload:
    """Return an ADK frame as text."""
    return Payload(frame.event)


def _ai_sdk_failure(text: str) -> list[Payload]:
    return [ai_sdk_payload(ai_sdk_frames.Error(text)), _DONE]


def _adk_failure(text: str) -> list[Payload]:
    return [
        Payload(_encode({"errorCode": _STREAM_BROKEN, "errorMessage": text, "author": "system"}))
    ]


def _studio_failure(text: str) -> list[Payload]:
    return [studio_frames.payload(studio_frames.Error(message=text, code=_STREAM_BROKEN))]


_PLAIN: dict[str, ProtocolSpec[Any]] = {
    "adk": ProtocolSpec(
        name="adk",
        make=AdkProjection,
        payload=adk_payload,
        failure=_adk_failure,
        completed=completed_event,
    ),
    "studio": ProtocolSpec(
        name="studio",
        make=StudioProjection,
        payload=studio_frames.payload,
        failure=_studio_failure,
        completed=studio_frames.completed,
        named=True,
    ),
}
"""Protocols without dialects, the same for every run."""


def protocol(
    name: str, dialect_name: str = "", files: FileLinks | None = None, scope: Scope = WHOLE
) -> ProtocolSpec[Any]:
    """Look a protocol up. Raise `UsageError` for an unknown one, `NotBuilt` for a later one."""
    if name in _PLAIN:
        if dialect_name:
            raise UsageError(f"Protocol {name!r} has no dialects, got {dialect_name[:20]!r}.")
        return _PLAIN[name]
    if name == "ai-sdk":
        speaks = dialect(dialect_name)
        return ProtocolSpec(
            name="ai-sdk",
            make=lambda: AiSdkProjection(speaks, files, scope),
            payload=ai_sdk_payload,
            failure=_ai_sdk_failure,
            completed=completed,
            headers={"x-vercel-ai-ui-message-stream": "v1"},
        )
    if name in LATER:
        raise NotBuilt(f"Protocol {name!r} is not in this version; use {_KNOWN}.")
    raise UsageError(f"Unknown protocol {name[:40]!r}; expected {_KNOWN}.")


def dialects(name: str) -> tuple[str, ...]:
    """Return a protocol's dialects, the default first."""
    return tuple(DIALECTS) if name == "ai-sdk" else ()
