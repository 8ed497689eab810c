"""The frames of ADK's own protocol: its events, as it serialised them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from adk_prism.projection.contract import Complete

_KEY = b'"errorMessage":'


class AdkFrame(Struct, frozen=True, gc=False):
    """One event, camelCase JSON."""

    event: bytes


class _Failed(Struct, rename="camel"):
    error_code: str | None = None
    error_message: str = ""


_read = msgspec.json.Decoder(_Failed).decode


def completed_event(frame: AdkFrame, complete: Complete) -> AdkFrame:
    """Return an event with its `errorMessage` completed, and the rest of its bytes as they were.

    The code is in a field of its own, as from ADK's server, and is not said twice.
    """
    if _KEY not in frame.event:
        return frame
    try:
        error = _read(frame.event)
    except msgspec.MsgspecError:  # It was written elsewhere: no reference of ours is in it.
        return frame
    full = complete(error.error_message).removeprefix(f"{error.error_code}: ")
    before, after = (_KEY + msgspec.json.encode(text) for text in (error.error_message, full))
    return AdkFrame(frame.event.replace(before, after, 1))
