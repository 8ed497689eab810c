"""The approximate memory size of an event: its objects, and the texts and bytes in it.

An exact number would cost as much as reading the event; what can grow without limit is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event
from google.genai import types

EVENT = 4500
"""An event with one short part, as pydantic keeps it (measured)."""
PART = 1000
VALUE = 60


def event_size(event: Event) -> int:
    """Return the bytes that an event takes."""
    weight = EVENT + _plain(event.actions.state_delta) + _plain(event.output)
    weight += _plain(event.custom_metadata)
    for part in (event.content.parts if event.content is not None else None) or ():
        weight += PART + _part(part)
    if event.grounding_metadata is not None:
        weight += PART * len(event.grounding_metadata.grounding_chunks or ())
    return weight


def _part(part: types.Part) -> int:
    weight = len(part.text or "") + len(part.thought_signature or b"")
    if part.inline_data is not None:
        weight += len(part.inline_data.data or b"")
    if part.function_call is not None:
        weight += _plain(part.function_call.args)
    if part.function_response is not None:
        weight += _plain(part.function_response.response)
    if part.executable_code is not None:
        weight += _plain(part.executable_code.code)
    if part.code_execution_result is not None:
        weight += _plain(part.code_execution_result.output)
    return weight


def _plain(value: Any) -> int:
    """Return the bytes of a JSON value."""
    if isinstance(value, str | bytes):
        return VALUE + len(value)
    if isinstance(value, Mapping):
        return VALUE + sum(VALUE + len(str(key)) + _plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return VALUE + sum(map(_plain, value))
    return 0 if value is None else VALUE
