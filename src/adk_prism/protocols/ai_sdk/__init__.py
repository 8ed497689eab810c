"""The Vercel AI SDK's UI message stream: what `useChat` reads and posts."""

from __future__ import annotations

import msgspec

from adk_prism.log.entry import Entry, RunStarted
from adk_prism.protocols.ai_sdk.frames import DIALECTS, Done, Error, Frame, completed
from adk_prism.protocols.ai_sdk.projection import AiSdkProjection, LiveAiSdkProjection
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.protocols.contract import Options, Payload, ProtocolSpec

_encode = msgspec.json.Encoder().encode
_DONE = Payload(b"[DONE]")


def _make(options: Options, first: Entry) -> AiSdkProjection:
    is_live = isinstance(first.record, RunStarted) and first.record.live
    kind = LiveAiSdkProjection if is_live else AiSdkProjection
    return kind(options)


def _payload(frame: Frame) -> Payload:
    return _DONE if type(frame) is Done else Payload(_encode(frame))


def _failure(text: str) -> list[Payload]:
    return [_payload(Error(text)), _DONE]


SPEC = ProtocolSpec(
    name="ai-sdk",
    summary="the AI SDK's UI message stream, for useChat",
    make=_make,
    payload=_payload,
    failure=_failure,
    completed=completed,
    dialects=tuple(DIALECTS),
    read_request=read_request,
    resumes_by="message",
    headers={"x-vercel-ai-ui-message-stream": "v1"},
)
