"""Work that is begun by whoever has it, in the name of the task that would have done it.

A task that waits for work costs a turn of the loop each time it is woken: two system calls and more, which is
half of what a piece of sound costs besides. Most of this work never waits: a buffer takes the piece, and that
is it. So it is begun on the spot, as the waiting task: it is the current one meanwhile, and its context
holds. Work that does have to wait is handed to that task, which goes on with it.

As tasks that are started eagerly in Python 3.12 and newer; whose task is whose is told to asyncio in the way
that its documentation has for implementations of tasks (`asyncio-extending`).
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from types import coroutine
from typing import Any

Work = Coroutine[Any, Any, None]


class StartedWork:
    """Work that waits for something, or has failed."""

    __slots__ = ("error", "waits_for", "work")

    def __init__(self, work: Work, waits_for: object, error: Exception | None = None) -> None:
        self.work = work
        self.waits_for = waits_for
        self.error = error

    async def finish(self) -> None:
        """Do the rest of it, or raise what it failed with."""
        if self.error is not None:
            raise self.error
        await _rest(self.work, self.waits_for)


class EagerTask:
    """A task, made by itself, in whose name others may begin work while it waits."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._run = copy_context().run

    def begin(self, work: Work) -> StartedWork | None:
        """Do work until it has to wait; return what is left of it, None if it is done."""
        caller = asyncio.current_task(self._loop)  # not asked for the loop: that is a system call
        if caller is not None:
            _leave_task(self._loop, caller)
        try:
            return self._step(work)
        finally:
            if caller is not None:
                _enter_task(self._loop, caller)

    def _step(self, work: Work) -> StartedWork | None:
        assert self._task is not None
        _enter_task(self._loop, self._task)
        try:
            return StartedWork(work, self._run(work.send, None))
        except StopIteration:
            return None
        except Exception as error:  # it is the task's own, which raises it
            return StartedWork(work, None, error)
        finally:
            _leave_task(self._loop, self._task)


@coroutine
def _rest(work: Work, waits_for: object) -> Generator[Any, Any, None]:
    """Go on with a coroutine that has told what it waits for."""
    try:
        while True:
            try:
                told = yield waits_for
            except BaseException as error:  # passed on to whom it is meant for
                waits_for = work.throw(error)
            else:
                waits_for = work.send(told)
    except StopIteration:
        return
