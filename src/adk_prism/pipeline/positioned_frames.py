"""A run as frames with their places, for a connection that carries each by itself.

Server-sent events are encoded once for all viewers (`broadcast`). A socket belongs to one client, so it reads
the log for itself, at its own pace: nothing grows with a slow one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from adk_prism.errors import BadPosition
from adk_prism.pipeline.off_loop import feed_one, read_in_turns
from adk_prism.projection.contract import Format, Payload
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import BEGINNING, Position, RunId


class PositionedFrame(NamedTuple):
    """A frame at its place."""

    position: Position
    payload: Payload


async def check_position(log: RunLog, run: RunId, after: Position) -> None:
    """Raise `BadPosition` for one past the end of the run, `NotFound` or `Gone` for the run."""
    summary = await log.summary(run)
    if after.cursor > summary.cursor:
        raise BadPosition(
            f"Position {after} is past the end of the run, which has {summary.cursor} entries."
        )


async def positioned_frames(
    log: RunLog, run: RunId, format: Format, after: Position = BEGINNING
) -> AsyncGenerator[PositionedFrame, None]:
    """Yield the frames of a run after a position, and what comes, until the run is over."""
    reader = format.reader()
    async with aclosing(read_in_turns(log, run, follow=True)) as entries:
        async for entry in entries:
            for part, payload in enumerate(await feed_one(entry, reader.feed), 1):
                if not _is_seen(entry.cursor, part, after):
                    yield PositionedFrame(Position(entry.cursor, part), payload)


def _is_seen(cursor: int, part: int, after: Position) -> bool:
    if cursor != after.cursor:
        return cursor < after.cursor
    return after.part is None or part <= after.part
