"""`project`: ADK events to frames, with no server, no log and no clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from typing import Any, Protocol, overload

import msgspec
from msgspec import Struct

from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.protocols import protocol
from adk_prism.runlog.entry import Entry
from adk_prism.source.recording_file import RunReader


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


@overload
def project(
    events: Iterable[EventLike], as_: str = "ai-sdk", *, dialect: str = ""
) -> Iterator[ProjectedFrame]: ...


@overload
def project(
    events: AsyncIterable[EventLike], as_: str = "ai-sdk", *, dialect: str = ""
) -> AsyncGenerator[ProjectedFrame, None]: ...


def project(
    events: Iterable[EventLike] | AsyncIterable[EventLike],
    as_: str = "ai-sdk",
    *,
    dialect: str = "",
) -> Iterator[ProjectedFrame] | AsyncGenerator[ProjectedFrame, None]:
    """Yield the frames of a run's events: objects, dicts or JSON, in either spelling.

    Events that come asynchronously, as from `Runner.run_async`, give frames asynchronously, each as soon as
    it is known; the end of the events is the end of the run. Raise `UsageError` for an unknown protocol or
    dialect, `SourceError` for anything that is not an event.
    """
    if isinstance(events, AsyncIterable):
        return _follow(events, _Frames(as_, dialect))
    return _read(events, _Frames(as_, dialect))


def _read(events: Iterable[EventLike], frames: _Frames) -> Iterator[ProjectedFrame]:
    for event in events:
        yield from frames.of(frames.reader.feed(_line(event)))
    yield from frames.of(frames.reader.finish())


async def _follow(
    events: AsyncIterable[EventLike], frames: _Frames
) -> AsyncGenerator[ProjectedFrame, None]:
    try:
        async for event in events:
            for frame in frames.of(frames.reader.feed(_line(event))):
                yield frame
    finally:
        if isinstance(events, AsyncGenerator):  # the caller usually has no other reference to it
            await events.aclose()
    for frame in frames.of(frames.reader.finish()):
        yield frame


class _Frames:
    """The frames of one run."""

    def __init__(self, as_: str, dialect: str) -> None:
        self.reader = RunReader(end=CaptureEnding())
        self._frames = protocol(as_).format(dialect).reader()

    def of(self, entries: Iterable[Entry]) -> Iterator[ProjectedFrame]:
        """Yield the frames that entries cause."""
        for entry in entries:
            for part, payload in enumerate(self._frames.feed(entry), 1):
                prefix = f"{self._frames.prefix}:" if self._frames.prefix else ""
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
