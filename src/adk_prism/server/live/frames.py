"""The frames that a live client sends: flat JSON objects with a `type`, and raw audio as binary messages.

Unknown keys are ignored (`version` and `timestamp` among them), since clients add their own. An invalid
frame is a `UsageError` that says what was expected; it ends nothing.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw, field

from adk_prism.errors import TooLarge, Unprocessable
from adk_prism.runlog.entry import NOTHING
from adk_prism.server.guards.strict_body import check_frame
from adk_prism.server.websocket.frames import SocketFrame, decode

RATE = 16_000
CHANNELS = 1
BIT_DEPTH = 16

MAX_AUDIO_BYTES = 64 * 1024
"""Bytes of one chunk: two seconds. Clients send a hundredth of that."""


class Message(SocketFrame, tag="message"):
    """The user's message: the chat's messages, of which the last counts, or just a text."""

    id: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    trigger: str = "submit-message"
    message_id: str | None = None
    text: str = ""

    def body(self, chat: str) -> dict[str, Any]:
        """Return it as the body of a chat request."""
        said = [{"role": "user", "parts": [{"type": "text", "text": self.text}]}]
        return {
            "id": chat,
            "messages": self.messages or (said if self.text else []),
            "trigger": self.trigger,
            "messageId": self.message_id,
        }


class ToolResult(SocketFrame, tag="tool_result"):
    """The result of a tool that the client ran."""

    tool_call_id: str
    result: Raw = Raw(b"null")
    error_text: str = ""


class Approval(SocketFrame, tag="approval"):
    """A person's decision."""

    approval_id: str
    approved: bool
    reason: str | None = None
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""

    @property
    def given(self) -> Raw:
        """The payload; nothing, where it is null."""
        return NOTHING if bytes(self.payload) == b"null" else self.payload


class AudioControl(SocketFrame, tag="audio_control"):
    """The microphone is switched on or off."""

    action: Literal["start", "stop"]


class AudioChunk(SocketFrame, tag="audio_chunk"):
    """A chunk of audio in base64."""

    chunk: bytes
    sample_rate: int = RATE
    channels: int = CHANNELS
    bit_depth: int = BIT_DEPTH

    def audio(self) -> bytes:
        """Return the audio. Raise `UsageError` for another format."""
        for name, given, expected in (
            ("sampleRate", self.sample_rate, RATE),
            ("channels", self.channels, CHANNELS),
            ("bitDepth", self.bit_depth, BIT_DEPTH),
        ):
            if given != expected:
                raise Unprocessable(f"`{name}` must be {expected}, got {given}.")
        return check_audio(self.chunk)


class Interrupt(SocketFrame, tag="interrupt"):
    """The person interrupts the agent."""

    reason: str = "user_abort"


class Ping(SocketFrame, tag="ping"):
    """Asks for a `pong`."""

    timestamp: int | float | None = None


class Close(SocketFrame, tag="close"):
    """Ends the run."""


Command = Message | ToolResult | Approval | AudioControl | Interrupt | Ping | Close
ClientFrame = AudioChunk | Command

_decode = msgspec.json.Decoder(ClientFrame).decode
_TYPES = "message, tool_result, approval, audio_control, audio_chunk, interrupt, ping, close"


def read_frame(text: str | bytes) -> ClientFrame:
    """Read a frame. Raise `UsageError` for one that is invalid."""
    frame: ClientFrame = decode(_decode, text, _TYPES)
    if not isinstance(frame, AudioChunk):  # which is bytes and small numbers by now
        check_frame(text)
    return frame


def check_audio(pcm: bytes) -> bytes:
    """Return 16-bit audio as it is. Raise `UsageError` for what cannot be."""
    if len(pcm) > MAX_AUDIO_BYTES:
        raise TooLarge(
            f"The audio chunk has {len(pcm)} bytes; at most {MAX_AUDIO_BYTES} are allowed."
        )
    if not pcm or len(pcm) % 2:
        raise Unprocessable(f"The audio chunk has {len(pcm)} bytes; expected two per sample.")
    return pcm
