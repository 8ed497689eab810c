"""Which tools of a run are at work, also after the run was stopped.

A call is at work from `before_tool` to its answer or error. A thread cannot be stopped: a function that ADK
or the tool itself runs in one goes on when the call is cancelled. So the threads that a call starts are noted
too, where they come from ADK's pool for tools (google-adk 2.13: `utils._sync_runner`) or from the event
loop's own (`asyncio.to_thread`). A thread that a tool makes in another way is not seen.
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


def note_tool_threads(max_workers: int) -> None:
    """Have the threads noted that ADK runs tools in, on this event loop."""
    pool = _pool_of_adk(max_workers)
    if pool is None or "submit" in vars(pool):
        return
    submit = pool.submit

    def noting(fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        return _noted(submit(fn, *args, **kwargs))

    pool.submit = noting  # type: ignore[method-assign] # the pool is ADK's, and of no class of ours


def _pool_of_adk(max_workers: int) -> ThreadPoolExecutor | None:
    """Return ADK's threads for tools; None of a version that keeps them elsewhere: they are not seen."""
    try:
        from google.adk.utils._sync_runner import _get_tool_thread_pool
    except ImportError:
        return None
    return _get_tool_thread_pool(max_workers)


def _noted(future: Future[_Result]) -> Future[_Result]:
    work, tool = WORK.get(), _TOOL.get()
    if work is not None and tool:
        work.note(future, tool)
    return future
