"""A whole message as one stream: the runs it spans, joined, for a client that comes back to a chat.

One `start`, the last run's `finish`, one terminator. What earlier runs asked and later ones answered is
told as the dialect can tell it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import structs

from adk_prism.pipeline.chats import Chats, Turn, answered_later, decided_later
from adk_prism.pipeline.follow import Follower, Stream, View
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.projection.ai_sdk.frames import Frame
from adk_prism.projection.ai_sdk.projection import Scope
from adk_prism.projection.contract import Complete, completing
from adk_prism.projection.registry import protocol


def told(turn: Turn) -> Turn:
    """Return a turn without the runs that say nothing: those that only kept answers for a later one."""
    held = [run.head.continues is not None and run.head.continues.held for run in turn.runs]
    passed = max(index for index, is_held in enumerate(held) if not is_held)
    kept = [run for i, run in enumerate(turn.runs) if i >= passed or not held[i]]
    return structs.replace(turn, runs=kept)


def scope_of(turn: Turn, index: int) -> Scope:
    """Return which part of a turn's replay its run at `index` is."""
    last = len(turn.runs) - 1
    return Scope(
        opens=index == 0,
        closes=index == last,
        replayed=last > 0,
        decided=decided_later(turn, index),
        answered=answered_later(turn, index),
    )


async def open_message(
    follower: Follower,
    turn: Turn,
    dialect: str,
    files: FileLinks,
    complete: Complete | None = None,
) -> MessageView:
    """Return a view of a turn from its beginning, with its error texts completed."""
    turn = told(turn)
    views = []
    for index, run in enumerate(turn.runs):
        spec = completing(protocol("ai-sdk", dialect, files, scope_of(turn, index)), complete)
        place = f"{index} of {len(turn.runs)}"
        variant = (dialect, files.base, place, *(["completed"] if complete else []))
        stream = Stream(run.summary.run, "ai-sdk", variant, named=True)
        views.append(await follower.open(stream, spec))
    return MessageView(views)


async def message_frames(chats: Chats, turn: Turn, dialect: str, files: FileLinks) -> list[Frame]:
    """Return the frames of a turn that is over, as one message."""
    turn = told(turn)
    frames: list[Frame] = []
    for index, run in enumerate(turn.runs):
        projection = protocol("ai-sdk", dialect, files, scope_of(turn, index)).make()
        async for entry in chats.entries(run.summary.run):
            frames.extend(projection.feed(entry))
    return frames


class MessageView:
    """The views of a message's runs, one after the other."""

    def __init__(self, views: list[View]) -> None:
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
