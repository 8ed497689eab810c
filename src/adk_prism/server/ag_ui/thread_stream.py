"""A whole thread as one stream: its past, then the run that is on, each with its own start and end.

For a client that comes back to a thread. What it is sent first is decided in `thread_past`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from adk_prism.pipeline.broadcast import Broadcaster, Viewer
from adk_prism.projection.contract import Format, Payload
from adk_prism.runlog.entry import RunId


class ThreadStream:
    """Views of runs, each opened when the one before is over."""

    def __init__(
        self,
        broadcaster: Broadcaster,
        format: Format,
        first: Sequence[Payload],
        runs: Sequence[RunId],
    ) -> None:
        """`first` are frames of no run, so without a position."""
        self._broadcaster = broadcaster
        self._format = format
        self._first = first
        self._runs = runs
        self._view: Viewer | None = None
        self.left = False
        """Somebody ended the view before the thread was over."""

    def leave(self) -> None:
        """End the view from outside."""
        self.left = True
        if self._view is not None:
            self._view.leave()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the thread's bytes."""
        yield b": connected\n\n" + b"".join(
            b"data: %s\n\n" % payload.data for payload in self._first
        )
        for run in self._runs:
            if self.left:
                return
            self._view = await self._broadcaster.open(run, self._format)
            async with aclosing(self._view.chunks()) as chunks:
                async for data in chunks:
                    yield data
            if self._view.left:
                self.left = True
