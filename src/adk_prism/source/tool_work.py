"""Which tools of a run are still running, also after the run was stopped.

A call runs from `before_tool` to its answer or error. A thread cannot be stopped: a function that runs in
one continues when the call is cancelled. So the threads that a call starts are tracked too, if they come
from ADK's pool for tools (`adk.tool_thread_pool`) or from the event loop's own (`asyncio.to_thread`).
Threads that a tool creates in another way are not seen.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Work:
    """The tools of one run that are at work."""

    def __init__(self, user: str = "") -> None:
        """`user` is whose run it is."""
        self.user = user
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


SHARE = 3
"""How many times the free threads one user's tools may hold: of 32 threads one user gets 24, the next six. So
some are free for whoever comes next, although a thread cannot be taken away."""


class NotingExecutor(ThreadPoolExecutor):
    """Threads for an event loop; those that tools ask for are noted, and shared fairly among users.

    A tool that may not have a thread yet waits with the other tools of its user; users take turns.
    """

    reserved = 1
    """Threads that tools do not get: the server itself uses those of its event loop."""

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "") -> None:
        # Without a number: as many as Python's own.
        self._count = max_workers or min(32, (os.cpu_count() or 1) + 4)
        super().__init__(self._count, thread_name_prefix)
        self._lock = Lock()
        self._waiting: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        """Calls of tools, by user, in the order in which the users are served."""
        self._running: Counter[str] = Counter()

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Run a function in a thread."""
        work, tool = WORK.get(), _TOOL.get()
        if work is None or not tool:
            return super().submit(fn, *args, **kwargs)
        future: Future[_Result] = Future()
        work.note(future, tool)
        with self._lock:
            waiting = self._waiting.setdefault(work.user, deque())
            waiting.append((future, partial(fn, *args, **kwargs)))
        self._start_waiting()
        return future

    def _start_waiting(self) -> None:
        """Give threads to tools that may have one."""
        while (chosen := self._next()) is not None:
            user, future, call = chosen
            try:
                super().submit(self._run, user, future, call)
            except RuntimeError as error:  # The pool is shut down.
                self._ended(user)
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)

    def _next(self) -> tuple[str, Future[Any], Callable[[], Any]] | None:
        with self._lock:
            free = max(1, self._count - self.reserved) - self._running.total()
            for user, waiting in list(self._waiting.items()):
                # The last free thread is for a user who has none.
                if free <= 0 or self._running[user] >= max(1, SHARE * (free - 1)):
                    continue
                del self._waiting[user]
                future, call = waiting.popleft()
                if waiting:
                    self._waiting[user] = waiting  # behind the other users
                self._running[user] += 1
                return user, future, call
        return None

    def _run(self, user: str, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            self._ended(user)
            self._start_waiting()

    def _ended(self, user: str) -> None:
        with self._lock:
            self._running[user] -= 1
            if not self._running[user]:
                del self._running[user]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down; calls that wait for a thread are cancelled."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for calls in waiting.values():
            for future, _ in calls:
                future.cancel()
        super().shutdown(wait, cancel_futures=cancel_futures)
