"""Where the AI SDK's frames hold the text of an error: a server completes it for who may see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from adk_prism.projection.ai_sdk.frames import (
    Data,
    Error,
    Finish,
    Frame,
    MessageMetadata,
    ToolOutputError,
)
from adk_prism.projection.contract import Complete


def completed(frame: Frame, complete: Complete) -> Frame:
    """Return a frame with its error text completed; itself, if it has no error."""
    found = _COMPLETED.get(type(frame))
    return frame if found is None else found(frame, complete)


def _text(frame: Error | ToolOutputError, complete: Complete) -> Frame:
    return structs.replace(frame, error_text=complete(frame.error_text))


def _metadata(frame: MessageMetadata | Finish, complete: Complete) -> Frame:
    given = frame.message_metadata
    if "failure" not in given:
        return frame
    return structs.replace(frame, message_metadata={**given, "failure": complete(given["failure"])})


def _data(frame: Data, complete: Complete) -> Frame:
    if frame.type != "data-error" or "message" not in frame.data:
        return frame
    # The code is beside it, and is not said twice.
    full = complete(frame.data["message"]).removeprefix(f"{frame.data.get('code')}: ")
    return structs.replace(frame, data={**frame.data, "message": full})


_COMPLETED: dict[type[Any], Callable[[Any, Complete], Frame]] = {
    Error: _text,
    ToolOutputError: _text,
    MessageMetadata: _metadata,
    Finish: _metadata,
    Data: _data,
}
