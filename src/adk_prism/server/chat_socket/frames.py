"""The frames of the AI SDK's `WebSocketChatTransport`, both ways.

Follows ai 7.0.169. Its client gives up all of a socket's requests at one frame that it does not know, so
only these are sent: `start`, `chunk` with `sequence` from 0, `end`, `error`, `no-active`.
"""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec
from msgspec import Struct

from adk_prism.errors import Unprocessable, UsageError
from adk_prism.server.guards.strict_body import check_frame

LONGEST_ID = 128
"""Characters of a request's id; the SDK's has sixteen."""


@dataclass_transform(frozen_default=True)
class _Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    """Base of all."""


class Send(_Frame, tag="send"):
    """Say something, answer or take back."""

    request_id: str
    id: str
    messages: list[Any] = []
    trigger: str = "submit-message"
    message_id: str | None = None
    headers: dict[str, str] = {}
    body: dict[str, Any] | None = None

    def chat_body(self) -> dict[str, Any]:
        """Return what the same request is as a POST."""
        about = {"id": self.id, "messages": self.messages, "trigger": self.trigger}
        return {**(self.body or {}), **about, "messageId": self.message_id}


class Resume(_Frame, tag="resume"):
    """Show the message that is being written, from its beginning."""

    request_id: str
    id: str
    headers: dict[str, str] = {}
    body: dict[str, Any] | None = None


class Abort(_Frame, tag="abort"):
    """Stop a request: of a `send` the run, of a `resume` only the showing."""

    request_id: str


ChatFrame = Send | Resume | Abort

_read = msgspec.json.Decoder(ChatFrame).decode
_encode = msgspec.json.Encoder().encode


class _Named(Struct, rename="camel"):
    request_id: str = ""


_read_name = msgspec.json.Decoder(_Named).decode


def read_frame(text: str | bytes) -> ChatFrame:
    """Read a frame. Raise `UsageError` for one that the transport does not send."""
    try:
        frame: ChatFrame = _read(text)
    except msgspec.ValidationError as error:
        raise Unprocessable(f"{error}. `type` must be send, resume or abort.") from None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise UsageError("The frame must be JSON of type send, resume or abort.") from None
    check_frame(text)
    if not 0 < len(frame.request_id) <= LONGEST_ID:
        raise Unprocessable(f"`requestId` must have 1 to {LONGEST_ID} characters.")
    return frame


def request_of(text: str | bytes) -> str:
    """Return the id of the request that a bad frame names; empty if it names none."""
    try:
        return _read_name(text).request_id[:LONGEST_ID]
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return ""


def started(request: str) -> str:
    """Return the frame that begins an answer."""
    return _frame("start", request)


def ended(request: str) -> str:
    """Return the frame that ends one; without it the client waits for ever."""
    return _frame("end", request)


def nothing_runs(request: str) -> str:
    """Return the answer to a resume when there is nothing to show."""
    return _frame("no-active", request)


def failed(request: str, text: str) -> str:
    """Return the frame that fails one request."""
    return _encode({"type": "error", "requestId": request, "errorText": text}).decode()


def chunk(request: str, sequence: int, data: bytes) -> str:
    """Return a chunk at its place in the answer."""
    name = _encode(request).decode()
    return f'{{"type":"chunk","requestId":{name},"sequence":{sequence},"chunk":{data.decode()}}}'


def _frame(kind: str, request: str) -> str:
    return _encode({"type": kind, "requestId": request}).decode()
