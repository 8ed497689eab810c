"""Run work at once, as if a waiting task had been woken to do it.

Waking a task costs an iteration of the event loop, which is more than it costs to send one chunk of audio.
Most sends never wait: the socket's buffer takes the chunk. So the producer starts the work itself, while
asyncio's current task and the context are those of the waiting task. Work that has to wait is handed to
that task, which finishes it. This is how Python 3.12 starts eager tasks.

asyncio documents `_enter_task` and `_leave_task` for implementations of tasks ("Extending asyncio"), under
private names. Without them, all work is handed to the waiting task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from types import coroutine
from typing import Any

Work = Coroutine[Any, Any, None]
_SwitchTask = Callable[[asyncio.AbstractEventLoop, "asyncio.Task[Any]"], None]

_enter: _SwitchTask | None = getattr(asyncio.tasks, "_enter_task", None)
_leave: _SwitchTask | None = getattr(asyncio.tasks, "_leave_task", None)


class StartedWork:
    """Work that is left to the waiting task: not begun, waiting for something, or failed."""

    __slots__ = ("_error", "_is_begun", "_waits_for", "_work")

    def __init__(
        self,
        work: Work,
        waits_for: object = None,
        error: Exception | None = None,
        *,
        is_begun: bool = True,
    ) -> None:
        self._work = work
        self._waits_for = waits_for
        self._error = error
        self._is_begun = is_begun

    async def finish(self) -> None:
        """Do the rest of it, or raise what it failed with."""
        if self._error is not None:
            raise self._error
        if self._is_begun:
            await _rest(self._work, self._waits_for)
        else:
            await self._work


class EagerTask:
    """The task that creates it. Others start work in its place while it waits."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._run = copy_context().run

    def start(self, work: Work) -> StartedWork | None:
        """Run work until it has to wait; return what is left of it, None if it is done."""
        if _enter is None or _leave is None or self._task is None:
            return StartedWork(work, is_begun=False)
        caller = asyncio.current_task(self._loop)  # without the loop it would be a system call
        if caller is not None:
            _leave(self._loop, caller)
        _enter(self._loop, self._task)
        try:
            return StartedWork(work, self._run(work.send, None))
        except StopIteration:
            return None
        except Exception as error:  # raised in the waiting task
            return StartedWork(work, error=error)
        finally:
            _leave(self._loop, self._task)
            if caller is not None:
                _enter(self._loop, caller)


@coroutine
def _rest(work: Work, waits_for: object) -> Generator[Any, Any, None]:
    """Continue a coroutine that has yielded what it waits for."""
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # thrown into the work, which may handle it
                waits_for = work.throw(error)
            else:
                waits_for = work.send(sent)
    except StopIteration:
        return


def probe() -> str | None:
    """Return None if work can be started in another task's place, else why not."""
    if _enter is None or _leave is None:
        return "asyncio.tasks has no _enter_task and _leave_task."
    return None
