"""Which tools of a run are still running, also after the run was stopped.

A call runs from `before_tool` to its answer or error. A thread cannot be stopped: a function that runs in
one continues when the call is cancelled. So the threads that a call starts are tracked too, if they come
from ADK's pool for tools (`adk.tool_thread_pool`) or from the event loop's own (`asyncio.to_thread`).
Threads that a tool creates in another way are not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Work:
    """The tools of one run that are at work."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        """Names by call."""
        self._threads: dict[Future[Any], str] = {}

    def begin(self, call: str, tool: str) -> None:
        """Note that a tool begins to work on a call."""
        self._calls[call] = tool
        _TOOL.set(tool)

    def end(self, call: str) -> None:
        """Note that a call has its answer, its error, or was cancelled."""
        self._calls.pop(call, None)
        _TOOL.set("")

    def note(self, future: Future[Any], tool: str) -> None:
        """Note a thread until it is done."""
        self._threads[future] = tool
        future.add_done_callback(self._forget)

    def _forget(self, future: Future[Any]) -> None:
        # In the thread itself: for Python this is one step.
        self._threads.pop(future, None)

    def has_thread(self, tool: str) -> bool:
        """Return whether a thread of a tool runs."""
        return tool in list(self._threads.values())

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are at work, each once."""
        return sorted({*self._calls.values(), *list(self._threads.values())})


class Works(tuple[Work, ...]):
    """The tools of some runs; empty where none of them is recorded here."""

    __slots__ = ()

    @property
    def tools(self) -> list[str]:
        """The names of those that are at work."""
        return sorted({tool for work in self for tool in work.tools})


WORK: ContextVar[Work | None] = ContextVar("adk_prism_work", default=None)
"""Of the run that is being recorded: set in the task that records, and in all that it starts."""

_TOOL: ContextVar[str] = ContextVar("adk_prism_tool", default="")
"""The tool that is at work here."""


class NotingExecutor(ThreadPoolExecutor):
    """Threads for an event loop; those that tools ask for are noted."""

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Run a function in a thread."""
        return _noted(super().submit(fn, *args, **kwargs))


def _noted(future: Future[_Result]) -> Future[_Result]:
    work, tool = WORK.get(), _TOOL.get()
    if work is not None and tool:
        work.note(future, tool)
    return future
