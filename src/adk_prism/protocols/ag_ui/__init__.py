"""The AG-UI protocol: what CopilotKit and other AG-UI clients read."""

from __future__ import annotations

import msgspec

from adk_prism.log.entry import Entry, RunStarted
from adk_prism.protocols.ag_ui.frames import DIALECTS, Frame, RunError
from adk_prism.protocols.ag_ui.notices import completed
from adk_prism.protocols.ag_ui.projection import AgUiProjection
from adk_prism.protocols.ag_ui.requests import read_request
from adk_prism.protocols.contract import STREAM_BROKEN, Options, Payload, ProtocolSpec

_encode = msgspec.json.Encoder().encode


def _make(options: Options, first: Entry) -> AgUiProjection:
    head = first.record
    assert isinstance(head, RunStarted), "every run begins with this record"
    return AgUiProjection(options, head)


def _payload(frame: Frame) -> Payload:
    return Payload(_encode(frame))


def _failure(text: str) -> list[Payload]:
    return [_payload(RunError(text, STREAM_BROKEN))]


SPEC = ProtocolSpec(
    name="ag-ui",
    summary="AG-UI events, for CopilotKit and other AG-UI clients",
    make=_make,
    payload=_payload,
    failure=_failure,
    completed=completed,
    dialects=tuple(DIALECTS),
    read_request=read_request,
    resumes_by="run position",
)
