"""JSON frames of a socket: how they are declared, read and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Struct

from adk_prism.errors import Unprocessable, UsageError

T = TypeVar("T")

INVALID_JSON = (msgspec.MsgspecError, RecursionError, UnicodeError)
"""What decoding raises for text that is not JSON."""

encode_bytes = msgspec.json.Encoder().encode


def encode(frame: Any) -> str:
    """Return a frame as a text message."""
    return encode_bytes(frame).decode()


@dataclass_transform(frozen_default=True)
class SocketFrame(Struct, frozen=True, tag_field="type", rename="camel"):
    """Base of the frames that a client sends; `type` names the kind."""


def decode(decoder: Callable[[str | bytes], T], text: str | bytes, types: str) -> T:
    """Decode a client's frame. Raise `UsageError` that names the `types` that are expected."""
    try:
        return decoder(text)
    except msgspec.ValidationError as error:
        raise Unprocessable(f"{error}. `type` must be one of {types}.") from None
    except INVALID_JSON:
        raise UsageError(f"The message must be JSON with `type` one of {types}.") from None
