"""A run at hand as the bytes of a protocol: whole, or from a position on.

What `broadcast` does with a log, for entries that are simply given. Holds one entry at a time, so a run may
be of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adk_prism.errors import BadPosition
from adk_prism.projection.contract import ProtocolSpec
from adk_prism.runlog.entry import BEGINNING, Entry, Position
from adk_prism.transport.sse_encoder import encode


def replay(
    entries: Iterable[Entry], spec: ProtocolSpec[Any], after: Position = BEGINNING
) -> Iterator[bytes]:
    """Yield the SSE frames after a position, one entry's at a time, never an empty piece.

    Raise `BadPosition` where the stream has no such position: before anything is yielded.
    """
    projection = spec.make()
    last, prefix = 0, ""
    for entry in entries:
        frames = projection.feed(entry)
        prefix = prefix if last else spec.prefix(entry)
        last = entry.cursor
        if last < after.cursor:
            continue
        seen = _seen(last, len(frames), after)
        if seen < len(frames):
            payloads = [spec.payload(frame) for frame in frames[seen:]]
            yield encode(prefix, last, payloads, seen + 1)
    if after.cursor > last:
        raise BadPosition(f"Position {after} is past the end of the run, which has {last} entries.")


def _seen(cursor: int, frames: int, after: Position) -> int:
    """Return how many of an entry's frames lie before the position or at it."""
    if cursor > after.cursor:
        return 0
    if after.part is None:
        return frames
    if after.part > frames:
        raise BadPosition(
            f"Position {after} is not in this stream: entry {cursor} has {frames} frames."
        )
    return after.part
