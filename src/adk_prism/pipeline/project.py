"""`project`: ADK events to frames, with no server, no log and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.projection.registry import protocol
from adk_prism.source.recording import read_run


class AdkEventObject(Protocol):
    """ADK's own `Event`, of which only this is needed."""

    def model_dump_json(self, *, by_alias: bool, exclude_none: bool) -> str: ...


EventLike = AdkEventObject | Mapping[str, Any] | str | bytes


class ProjectedFrame(Struct, frozen=True):
    """One frame of a protocol."""

    position: str
    """Its place, as sent in the SSE `id:`."""
    data: str
    """Its payload: JSON, or a terminator such as `[DONE]`."""
    event: str = ""
    """The SSE event name, for protocols that have them."""


def project(
    events: Iterable[EventLike], as_: str = "ai-sdk", *, dialect: str = ""
) -> Iterator[ProjectedFrame]:
    """Yield the frames of a finished run's events: objects, dicts or JSON, in either spelling.

    Raise `UsageError` for an unknown protocol or dialect, `SourceError` for what is no event.
    """
    spec = protocol(as_, dialect)
    projection = spec.make()
    prefix = ""
    for entry in read_run((_line(event) for event in events), end=CaptureEnding()):
        if entry.cursor == 1 and spec.named:
            prefix = f"{spec.prefix(entry)}:"
        for part, frame in enumerate(projection.feed(entry), 1):
            payload = spec.payload(frame)
            position = f"{prefix}{entry.cursor}.{part}"
            yield ProjectedFrame(position, payload.data.decode(), payload.event)


def _line(event: EventLike) -> bytes:
    if isinstance(event, bytes):
        return event.strip() + b"\n"
    if isinstance(event, str):
        return event.strip().encode() + b"\n"
    if isinstance(event, Mapping):
        return msgspec.json.encode(event) + b"\n"
    return event.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
