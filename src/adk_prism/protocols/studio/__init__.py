"""Studio traces (SSE Schema v2): nodes with the state before and after each."""

from __future__ import annotations

from adk_prism.protocols.contract import STREAM_BROKEN, Payload, ProtocolSpec
from adk_prism.protocols.studio.frames import Error, completed, payload
from adk_prism.protocols.studio.projection import StudioProjection
from adk_prism.protocols.studio.requests import read_request


def _failure(text: str) -> list[Payload]:
    return [payload(Error(message=text, code=STREAM_BROKEN))]


SPEC = ProtocolSpec(
    name="studio",
    summary="Studio traces with state snapshots (SSE Schema v2)",
    make=lambda *_: StudioProjection(),  # one form for everybody
    payload=payload,
    failure=_failure,
    completed=completed,
    read_request=read_request,
    resumes_by="run position",
)
