"""Entries as the bytes of a protocol: whole, or from a position on.

What `broadcast` does with a log, for entries that are simply given. Holds one entry at a time, so a run may
be of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adk_prism.errors import BadPosition
from adk_prism.projection.contract import Format
from adk_prism.runlog.entry import BEGINNING, Entry, Position
from adk_prism.transport.sse_encoder import encode


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


def seen_part(frames: int, after: Position) -> int:
    """Return how many frames of the position's own entry were seen. Raise `BadPosition` if it has fewer."""
    if after.part is None:
        return frames
    if after.part > frames:
        raise BadPosition(
            f"Position {after} is not in this stream: entry {after.cursor} has {frames} frames."
        )
    return after.part
