"""The frames of the AI SDK's `WebSocketChatTransport`, in both directions.

Follows ai 7.0.169. Its client gives up all requests of a socket at one frame that it does not know, so only
these are sent: `start`, `chunk` with `sequence` from 0, `end`, `error`, `no-active`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from adk_prism.errors import Unprocessable
from adk_prism.server.guards.strict_body import check_frame
from adk_prism.server.websocket.frames import INVALID_JSON, SocketFrame, decode, encode

MAX_ID_LENGTH = 128
"""Characters of a request's id; the SDK's have sixteen."""


class Send(SocketFrame, tag="send"):
    """Send a message, answer a question, or regenerate."""

    request_id: str
    id: str
    messages: list[Any] = field(default_factory=list)
    trigger: str = "submit-message"
    message_id: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None

    def chat_body(self) -> dict[str, Any]:
        """Return the body of the same request as a POST."""
        about = {"id": self.id, "messages": self.messages, "trigger": self.trigger}
        return {**(self.body or {}), **about, "messageId": self.message_id}


class Resume(SocketFrame, tag="resume"):
    """Stream the message that is being written, from its start."""

    request_id: str
    id: str
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None


class Abort(SocketFrame, tag="abort"):
    """Stop a request: for a `send` the run, for a `resume` only the stream."""

    request_id: str


ChatFrame = Send | Resume | Abort

_decode = msgspec.json.Decoder(ChatFrame).decode


class _Named(Struct, rename="camel"):
    request_id: str = ""


_read_name = msgspec.json.Decoder(_Named).decode


def read_frame(text: str | bytes) -> ChatFrame:
    """Read a frame. Raise `UsageError` for one that the transport does not send."""
    frame: ChatFrame = decode(_decode, text, "send, resume, abort")
    check_frame(text)
    if not 0 < len(frame.request_id) <= MAX_ID_LENGTH:
        raise Unprocessable(f"`requestId` must have 1 to {MAX_ID_LENGTH} characters.")
    return frame


def request_of(text: str | bytes) -> str:
    """Return the request id of an invalid frame; empty if it has none."""
    try:
        return _read_name(text).request_id[:MAX_ID_LENGTH]
    except INVALID_JSON:
        return ""


def started(request: str) -> str:
    """Return the frame that starts an answer."""
    return _frame("start", request)


def ended(request: str) -> str:
    """Return the frame that ends an answer; without it the client waits for ever."""
    return _frame("end", request)


def nothing_runs(request: str) -> str:
    """Return the answer to a `resume` when no message is being written."""
    return _frame("no-active", request)


def failed(request: str, text: str) -> str:
    """Return the error of one request."""
    return encode({"type": "error", "requestId": request, "errorText": text})


def chunk(request: str, sequence: int, data: bytes) -> str:
    """Return a chunk with its sequence number."""
    name = encode(request)
    return f'{{"type":"chunk","requestId":{name},"sequence":{sequence},"chunk":{data.decode()}}}'


def _frame(kind: str, request: str) -> str:
    return encode({"type": kind, "requestId": request})
