"""What a live client sends: flat JSON messages, told apart by `type`, and raw sound as binary ones.

Read tolerantly: unknown keys are passed over (`version` and `timestamp` among them), since clients add
their own. What cannot be meant is a `UsageError` that says what was expected; it ends nothing.
"""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import TooLarge, Unprocessable, UsageError
from adk_prism.runlog.entry import NOTHING
from adk_prism.server.guards.strict_body import check_frame

RATE = 16_000
CHANNELS = 1
BIT_DEPTH = 16

MAX_AUDIO_BYTES = 64 * 1024
"""Bytes of one piece of sound: two seconds. Clients send a fiftieth of that."""


@dataclass_transform(frozen_default=True)
class _Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    """Base of all."""


class Message(_Frame, tag="message"):
    """What the user wrote: the chat's messages, of which the last counts, or just a text."""

    id: str = ""
    messages: list[dict[str, Any]] = []
    trigger: str = "submit-message"
    message_id: str | None = None
    text: str = ""

    def body(self, chat: str) -> dict[str, Any]:
        """Return it as a chat's request."""
        said = [{"role": "user", "parts": [{"type": "text", "text": self.text}]}]
        return {
            "id": chat,
            "messages": self.messages or (said if self.text else []),
            "trigger": self.trigger,
            "messageId": self.message_id,
        }


class ToolResult(_Frame, tag="tool_result"):
    """What a tool of the client's gave."""

    tool_call_id: str
    result: Raw = Raw(b"null")
    error_text: str = ""


class Approval(_Frame, tag="approval"):
    """A person's decision."""

    approval_id: str
    approved: bool
    reason: str | None = None
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""

    @property
    def given(self) -> Raw:
        """What came with it; nothing, where that is null."""
        return NOTHING if bytes(self.payload) == b"null" else self.payload


class AudioControl(_Frame, tag="audio_control"):
    """The microphone is switched on or off."""

    action: Literal["start", "stop"]


class AudioChunk(_Frame, tag="audio_chunk"):
    """A piece of sound in base64."""

    chunk: bytes
    sample_rate: int = RATE
    channels: int = CHANNELS
    bit_depth: int = BIT_DEPTH

    def sound(self) -> bytes:
        """Return the sound. Raise `UsageError` for what is none."""
        for name, given, wanted in (
            ("sampleRate", self.sample_rate, RATE),
            ("channels", self.channels, CHANNELS),
            ("bitDepth", self.bit_depth, BIT_DEPTH),
        ):
            if given != wanted:
                raise Unprocessable(f"`{name}` must be {wanted} for audio, got {given}.")
        return check_audio(self.chunk)


class Interrupt(_Frame, tag="interrupt"):
    """The person cuts the agent off."""

    reason: str = "user_abort"


class Ping(_Frame, tag="ping"):
    """Asks for a sign of life."""

    timestamp: int | float | None = None


class Close(_Frame, tag="close"):
    """The client has had enough: the run ends."""


Command = Message | ToolResult | Approval | AudioControl | Interrupt | Ping | Close
ClientFrame = AudioChunk | Command

_read = msgspec.json.Decoder(ClientFrame).decode
_TYPES = "message, tool_result, approval, audio_control, audio_chunk, interrupt, ping, close"


def read_frame(text: str | bytes) -> ClientFrame:
    """Read a message. Raise `UsageError` for one that no client means."""
    try:
        frame: ClientFrame = _read(text)
    except msgspec.ValidationError as error:
        raise Unprocessable(f"{error}. `type` must be one of {_TYPES}.") from None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise UsageError(f"The message must be JSON with `type` one of {_TYPES}.") from None
    if not isinstance(frame, AudioChunk):  # which is bytes and small numbers by now
        check_frame(text)
    return frame


def check_audio(pcm: bytes) -> bytes:
    """Return sound that came as it is. Raise `UsageError` for what is none."""
    if len(pcm) > MAX_AUDIO_BYTES:
        raise TooLarge(
            f"An audio chunk has {len(pcm)} bytes; at most {MAX_AUDIO_BYTES} are allowed."
        )
    if not pcm or len(pcm) % 2:
        raise Unprocessable(f"An audio chunk has {len(pcm)} bytes; expected two per sample.")
    return pcm
