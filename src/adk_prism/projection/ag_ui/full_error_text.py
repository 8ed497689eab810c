"""Where AG-UI's events hold the text of an error: a server completes it for who may see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from adk_prism.projection.ag_ui.frames import Custom, Frame, RunError, SubagentError, ToolCallResult
from adk_prism.projection.ag_ui.notices import ERROR
from adk_prism.projection.contract import Complete


def completed(frame: Frame, complete: Complete) -> Frame:
    """Return a frame with its error text completed; itself, where it tells no error."""
    found = _COMPLETED.get(type(frame))
    return frame if found is None else found(frame, complete)


def _message(frame: RunError | SubagentError, complete: Complete) -> Frame:
    return structs.replace(frame, message=complete(frame.message))


def _result(frame: ToolCallResult, complete: Complete) -> Frame:
    about = frame.metadata.get("adk", {}) if isinstance(frame.metadata, dict) else {}
    if "error" not in about:
        return frame
    told = {**about, "error": complete(about["error"])}
    return structs.replace(frame, metadata={"adk": told})


def _custom(frame: Custom, complete: Complete) -> Frame:
    if frame.name != ERROR or "message" not in frame.value:
        return frame
    # The code is beside it, and is not said twice.
    full = complete(frame.value["message"]).removeprefix(f"{frame.value.get('code')}: ")
    return structs.replace(frame, value={**frame.value, "message": full})


_COMPLETED: dict[type[Any], Callable[[Any, Complete], Frame]] = {
    RunError: _message,
    SubagentError: _message,
    ToolCallResult: _result,
    Custom: _custom,
}
