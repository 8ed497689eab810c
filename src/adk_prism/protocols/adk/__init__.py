"""ADK's own REST and SSE contract: events as ADK serialised them."""

from __future__ import annotations

import msgspec

from adk_prism.protocols.adk.projection import AdkProjection, completed_event, read_request
from adk_prism.protocols.contract import STREAM_BROKEN, Payload, ProtocolSpec


def _failure(text: str) -> list[Payload]:
    error = {"errorCode": STREAM_BROKEN, "errorMessage": text, "author": "system"}
    return [Payload(msgspec.json.encode(error))]


SPEC = ProtocolSpec(
    name="adk",
    summary="ADK's own events, as /run_sse sends them",
    make=lambda *_: AdkProjection(),  # one form for everybody
    payload=lambda frame: frame,
    failure=_failure,
    completed=completed_event,
    read_request=read_request,
)
