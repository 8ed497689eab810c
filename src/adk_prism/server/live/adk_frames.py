"""The frames of `WS /run_live`: the client sends ADK's `LiveRequest`s, and is sent ADK's events.

Follows google-adk 2.13 `cli/api_server.py` and `live/live_request_queue.py`. Decides which events of the
log an ADK client is sent: not its own text, which ADK does not repeat; not the audio of the log, which was
sent chunk by chunk; and, beyond ADK, the request for an approval, in the form that ADK gives it in other
runs.
"""

from __future__ import annotations

import base64
import re
import time
from typing import Any
from uuid import uuid4

import msgspec
from google.adk.agents.live_request_queue import LiveRequest
from msgspec import Raw, Struct
from pydantic import ValidationError

from adk_prism.errors import PrismError, TooLarge, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.runlog.entry import NOTHING, ApprovalAsked, is_absent
from adk_prism.server.guards.strict_body import check_frame
from adk_prism.server.live.frames import check_audio
from adk_prism.server.websocket.frames import encode
from adk_prism.source.live.audio_log import PcmChunk

MAX_IMAGE_BYTES = 1024 * 1024
"""Bytes of one camera frame, of which a client sends one or two a second."""

_AUDIO = re.compile(r"audio/pcm(;\s?rate=\d{4,6})?")
_OTHER = re.compile(r"(audio|image|video)/[\w.+-]{1,40}")

_NO_ACTIONS: dict[str, dict[str, str]] = {
    "stateDelta": {},
    "artifactDelta": {},
    "requestedAuthConfigs": {},
    "requestedToolConfirmations": {},
}


# --------------------------------------------------------------------------- from the client


def read_live_request(text: str | bytes) -> LiveRequest:
    """Read a client's request. Raise `UsageError`."""
    check_frame(text)
    try:
        return LiveRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise Unprocessable(f"{where[:80]}: {str(first['msg'])[:200]}") from None
    except (AttributeError, TypeError, LookupError, ArithmeticError):
        # Validators of google-genai fail on input that they do not expect.
        raise Unprocessable("The request must be an ADK LiveRequest.") from None


def check_blob(data: bytes, media_type: str) -> tuple[bytes, str]:
    """Return a blob that can be sent to the model, and its type. Raise `UsageError`."""
    if _AUDIO.fullmatch(media_type):
        return check_audio(data), media_type
    if _OTHER.fullmatch(media_type) is None:
        raise Unprocessable(
            f"The blob's type must be audio, image or video, got {media_type[:60]!r}."
        )
    if not data:
        raise Unprocessable("The blob has no data.")
    if len(data) > MAX_IMAGE_BYTES:
        raise TooLarge(f"The blob has {len(data)} bytes; at most {MAX_IMAGE_BYTES} are allowed.")
    return data, media_type


# --------------------------------------------------------------------------- to the client


class _Blob(Struct, rename="camel"):
    mime_type: str = ""


class _Call(Struct):
    id: str = ""
    name: str = ""
    args: Raw = Raw(b"{}")


class _Part(Struct, rename="camel"):
    inline_data: _Blob | None = None
    function_call: _Call | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Event(Struct, rename="camel"):
    author: str = ""
    content: _Content | None = None
    input_transcription: Raw = NOTHING


_decode = msgspec.json.Decoder(_Event).decode


class AdkEvents:
    """Decides which events of a live run its client is sent, and makes those that the log does not have."""

    def __init__(self, invocation: str, author: str) -> None:
        self._invocation = invocation
        self._author = author
        """The agent of the last event."""
        self._calls: dict[str, _Call] = {}
        """Calls of the last events, by id: an approval is asked right after its call."""

    def is_sent(self, event: bytes) -> bool:
        """Return whether the client is sent an event of the log."""
        read = _decode(event)
        if read.author == "user":
            return read.content is None and not is_absent(read.input_transcription)
        self._author = read.author or self._author
        parts = (read.content.parts if read.content is not None else None) or []
        self._calls.update((p.function_call.id, p.function_call) for p in parts if p.function_call)
        while len(self._calls) > MAX_CALLS:
            del self._calls[next(iter(self._calls))]
        return not parts or not all(map(_is_audio, parts))

    def audio(self, chunk: PcmChunk) -> str:
        """Return a chunk of the agent's audio as an event."""
        data = base64.urlsafe_b64encode(chunk.pcm).decode()  # as pydantic writes bytes
        blob = {"inlineData": {"data": data, "mimeType": chunk.media_type}}
        return self._event({"content": {"role": "model", "parts": [blob]}})

    def question(self, asked: ApprovalAsked) -> str:
        """Return the request for an approval, as ADK makes it in other runs."""
        call = self._calls.get(asked.call, _Call(id=asked.call, name=asked.name))
        args = {
            "originalFunctionCall": {"id": call.id, "name": call.name, "args": call.args},
            "toolConfirmation": {"hint": asked.hint, "confirmed": False},
        }
        question = {"functionCall": {"id": asked.approval, "name": CONFIRMATION, "args": args}}
        content = {"role": "user", "parts": [question]}
        return self._event({"content": content, "longRunningToolIds": [asked.approval]})

    def error(self, error: PrismError) -> str:
        """Return the error of an invalid request as an event."""
        return self._event({"errorCode": error.kind, "errorMessage": error.detail})

    def _event(self, fields: dict[str, Any]) -> str:
        event = {
            **fields,
            "invocationId": self._invocation,
            "author": self._author,
            "actions": _NO_ACTIONS,
            "id": str(uuid4()),
            "timestamp": time.time(),
        }
        return encode(event)


MAX_CALLS = 256
"""Calls that are remembered: more than a model makes at once."""


def _is_audio(part: _Part) -> bool:
    return part.inline_data is not None and part.inline_data.mime_type.startswith("audio/pcm")
