"""A source: anything that yields the records of one run, `RunStarted` first.

A source ends by exhaustion or by raising. It need not yield `RunEnded`: the recorder writes how the run
ended (`pipeline.record`). A recording does yield its own `RunEnded`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from adk_prism.runlog.entry import AgentEvent, Entry, Record
from adk_prism.source.model_calls.seen_call import SeenCall

EmitRecord = Callable[[Record | Entry | SeenCall], Awaitable[None]]
"""Records something at once; an entry, with its own time. The source raises again what it raises."""

Emit = Callable[[Record | Entry | SeenCall | list[AgentEvent]], Awaitable[None]]
"""The same, and takes deltas that came together as a list, at the cost of one."""


class EventSource(Protocol):
    """Yields the records of one run, in order."""

    def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        """Start the run and yield what happens. Raise whatever ended it badly.

        What happened before, in another run, comes as an entry: it keeps its time, not its cursor.

        With `emit`, a source may record something between the records that it yields. Without `emit`, that is
        not recorded.
        """

    def cancel(self) -> None:
        """Ask the run to stop; its records continue until it has. Repeating it changes nothing."""

    @property
    def correlation(self) -> str:
        """Correlation id of the last exception text that was withheld; empty if none was."""
