"""A recording, or ADK's events, in any protocol, without calling a model: `adk-prism replay` and `project`.

Reads, projects and writes entry by entry, so that a run may have any length; everything before an unreadable
entry is written. Neither ADK nor a web server is loaded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from typing import Any, Protocol, overload

import msgspec

from adk_prism.errors import BadPosition
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import RunReader, read_run
from adk_prism.log.entry import BEGINNING, Entry, Position, parse_position
from adk_prism.protocols.contract import Format, ProjectedFrame
from adk_prism.protocols.registry import names, protocol
from adk_prism.protocols.sse import encode
from adk_prism.runs.broadcast import seen_part
from adk_prism.version import OLD_ARGUMENTS, warn_of_old

STDIN = "-"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a recording, ADK events as JSON lines, or saved /run_sse output; - reads stdin",
    )
    parser.add_argument("--as", dest="protocol", required=True, metavar="PROTOCOL", help=names())
    parser.add_argument(
        "--after",
        metavar="POSITION",
        default="",
        help="start after a frame (12.3) or an entry (12)",
    )
    parser.add_argument(
        "--dialect",
        metavar="DIALECT",
        default="",
        help="version of the protocol; ai-sdk has 6 (default), 7 and 5; ag-ui 0.0.59 (default) and 1.0",
    )
    parser.add_argument(
        "--raw", action="store_true", help="ag-ui: send ADK's own events too, as RAW events"
    )


def execute(args: argparse.Namespace) -> int:
    """Write the stream. Raise `UsageError` for bad arguments, `SourceError` for an unreadable file."""
    format = protocol(args.protocol).format(args.dialect, raw=args.raw)
    after = parse_position(args.after) if args.after else BEGINNING
    is_piped = args.file == STDIN
    entries = read_run(sys.stdin.buffer if is_piped else args.file, end=CaptureEnding())
    out = sys.stdout.buffer
    try:
        for frames in replay(entries, format, after):
            out.write(frames)
            if is_piped:
                out.flush()  # The input may be live.
    finally:
        out.flush()
    return 0


# ---------------------------------------------------------------------------
# `project`: ADK events to frames, with no server, no log and no clock.


class AdkEventObject(Protocol):
    """ADK's own `Event`, of which only this is needed."""

    def model_dump_json(self, *, by_alias: bool, exclude_none: bool) -> str: ...


EventLike = AdkEventObject | Mapping[str, Any] | str | bytes


@overload
def project(
    events: Iterable[EventLike], protocol: str = "ai-sdk", *, dialect: str = "", as_: str = ""
) -> Iterator[ProjectedFrame]: ...


@overload
def project(
    events: AsyncIterable[EventLike], protocol: str = "ai-sdk", *, dialect: str = "", as_: str = ""
) -> AsyncGenerator[ProjectedFrame, None]: ...


def project(
    events: Iterable[EventLike] | AsyncIterable[EventLike],
    protocol: str = "ai-sdk",
    *,
    dialect: str = "",
    as_: str = "",
) -> Iterator[ProjectedFrame] | AsyncGenerator[ProjectedFrame, None]:
    """Yield the frames of a run's events: objects, dicts or JSON, in either spelling.

    Events that come asynchronously, as from `Runner.run_async`, give frames asynchronously, each as soon as
    it is known; the end of the events is the end of the run. Raise `UsageError` for an unknown protocol or
    dialect, `SourceError` for anything that is not an event. `as_` is the earlier name of `protocol`.
    """
    if as_:
        warn_of_old("project(as_=…)", f"project({OLD_ARGUMENTS['as_']}=…)", level=2)
        protocol = as_
    if isinstance(events, AsyncIterable):
        return _follow(events, _Frames(protocol, dialect))
    return _read(events, _Frames(protocol, dialect))


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

    def __init__(self, name: str, dialect: str) -> None:
        self.reader = RunReader(end=CaptureEnding())
        self._frames = protocol(name).format(dialect).reader()

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


# ---------------------------------------------------------------------------
# Entries as the bytes of a protocol: whole, or from a position on.
#
# What `broadcast` does with a log, for entries that are simply given. Holds one entry at a time, so a
# run may be of any length.


def replay(
    entries: Iterable[Entry], format: Format, after: Position = BEGINNING
) -> Iterator[bytes]:
    """Yield the SSE frames after a position, one entry's at a time, never an empty piece.

    Raise `BadPosition` where the stream has no such position: before anything is yielded.
    """
    reader, last = format.reader(), 0
    for entry in entries:
        payloads = reader.feed(entry)
        last = entry.cursor
        if last < after.cursor:
            continue
        seen = seen_part(len(payloads), after) if last == after.cursor else 0
        if seen < len(payloads):
            yield encode(reader.prefix, last, payloads[seen:], seen + 1)
    if after.cursor > last:
        raise BadPosition(f"Position {after} is past the end of the run, which has {last} entries.")
