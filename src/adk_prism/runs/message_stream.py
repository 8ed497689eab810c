"""A whole message as one stream: all its runs, joined, for a client that returns to a chat.

It has one `start`, the last run's `finish` and one terminator. Questions of earlier runs that later ones
answered are shown as the dialect allows.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple

from msgspec import Struct, structs

from adk_prism.errors import BadPosition
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import BEGINNING, Position, Response, RunId
from adk_prism.protocols.contract import Format, History, Payload, Scope
from adk_prism.runs.broadcast import Broadcaster, Viewer
from adk_prism.runs.chats import (
    Chats,
    Turn,
    answered_by,
    answered_later,
    decided_later,
    stored_bytes,
)
from adk_prism.runs.off_loop import call_sized, feed_one, read_in_turns


class Shown(Struct, frozen=True):
    """A turn of a chat, and whether later ones follow."""

    turn: Turn
    is_left: bool = False
    """Later messages follow: open questions of the message have expired."""
    is_resumed: bool = False
    """A later message continued its invocation, as the answer to a question does."""
    elsewhere: Mapping[str, Response] = {}
    """What later messages answered, by the id of the request or approval."""


def shown(turns: Sequence[Turn], *, is_left: bool = False) -> list[Shown]:
    """Return the turns of a chat, each with what later ones mean for it.

    `is_left`: it was rewound, so nobody answers what its last message asks.
    """
    found: list[Shown] = []
    later: set[str] = set()
    elsewhere: dict[str, Response] = {}
    for turn in reversed(turns):
        resumed = any(run.summary.invocation in later for run in turn.runs)
        found.append(Shown(turn, is_left or bool(found), resumed, elsewhere))
        later.add(turn.first.summary.invocation)
        if answered := answered_by([turn]):
            elsewhere = {**answered, **elsewhere}
    return found[::-1]


def running(turns: Sequence[Turn]) -> Shown | None:
    """Find the active turn; an earlier one, if it is getting a late answer."""
    return next((place for place in shown(turns) if place.turn.resumable), None)


def without_held_runs(place: Shown) -> Shown:
    """Return a turn without the runs that only held answers for a later one.

    Answers that were held then were not passed on.
    """
    turn = place.turn
    held = [run.head.continues is not None and run.head.continues.held for run in turn.runs]
    passed = max(index for index, is_held in enumerate(held) if not is_held)
    kept = [
        run for i, run in enumerate(turn.runs) if not held[i] or (i >= passed and not place.is_left)
    ]
    return structs.replace(place, turn=structs.replace(turn, runs=kept))


def scope_of(place: Shown, index: int) -> Scope:
    """Return which part of a turn's replay its run at `index` is."""
    turn = place.turn
    last = len(turn.runs) - 1
    return Scope(
        part=f"{index + 1} of {last + 1}",
        opens=index == 0,
        closes=index == last,
        replayed=last > 0,
        decided=decided_later(turn, index),
        answered=answered_later(turn, index),
        left=place.is_left,
        resumed=place.is_resumed,
        elsewhere=place.elsewhere,
    )


async def open_message(broadcaster: Broadcaster, place: Shown, format: Format) -> MessageStream:
    """Return a view of a turn from its beginning."""
    place = without_held_runs(place)
    views = []
    for index, run in enumerate(place.turn.runs):
        part = format.of_part(scope_of(place, index))
        views.append(await broadcaster.open(run.summary.run, part))
    return MessageStream(views)


async def build_history(
    chats: Chats, turns: Sequence[Turn], history: History, *, is_left: bool = False
) -> None:
    """Give a conversation to a builder of messages, without the message that is still streaming."""
    size = 0
    for place in shown(turns, is_left=is_left):
        first = place.turn.first
        # What comes next ends the message before it, which takes long if that is large.
        if first.head.live:
            await call_sized(size, history.begin_live_run, first.summary.run)
            await chats.feed(first.summary.run, history.feed)
        else:
            sent = place.turn.user_message, first.head, first.summary.started
            await call_sized(size, history.user_message, *sent)
            if not place.turn.live:
                await _build_answer(chats, without_held_runs(place), history)
        size = stored_bytes([place.turn])


async def _build_answer(chats: Chats, place: Shown, history: History) -> None:
    for index, run in enumerate(place.turn.runs):
        history.begin_run(scope_of(place, index))
        await chats.feed(run.summary.run, history.feed)


class MessageStream:
    """The views of a message's runs, one after the other."""

    def __init__(self, views: list[Viewer]) -> None:
        self._views = views

    @property
    def left(self) -> bool:
        """Somebody ended the view before the message was over."""
        return any(view.left for view in self._views)

    def leave(self) -> None:
        """End the view from outside."""
        for view in self._views:
            view.leave()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the message's bytes."""
        for view in self._views:
            async with aclosing(view.chunks()) as chunks:
                async for data in chunks:
                    yield data
            if view.left:
                return


# ---------------------------------------------------------------------------
# A run as frames with their places, for a connection that carries each by itself.
#
# Server-sent events are encoded once for all viewers (`broadcast`). A socket belongs to one client,
# so it reads the log for itself, at its own pace: nothing grows with a slow one.


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
