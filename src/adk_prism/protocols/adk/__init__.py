"""ADK's own REST and SSE contract: events as ADK serialised them."""

from __future__ import annotations

import msgspec

from adk_prism.log.entry import Entry
from adk_prism.protocols.adk.projection import (
    AdkFrame,
    AdkProjection,
    completed_event,
    read_request,
)
from adk_prism.protocols.contract import STREAM_BROKEN, Options, Payload, ProtocolSpec


def _make(options: Options, first: Entry) -> AdkProjection:
    del options, first  # one form for everybody
    return AdkProjection()


def _payload(frame: AdkFrame) -> Payload:
    return Payload(frame.event)


def _failure(text: str) -> list[Payload]:
    error = {"errorCode": STREAM_BROKEN, "errorMessage": text, "author": "system"}
    return [Payload(msgspec.json.encode(error))]


SPEC = ProtocolSpec(
    name="adk",
    summary="ADK's own events, as /run_sse sends them",
    make=_make,
    payload=_payload,
    failure=_failure,
    completed=completed_event,
    read_request=read_request,
)
