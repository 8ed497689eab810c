"""Agent code as a task of its own, which is waited for, cancelled, and in the end abandoned.

A tool can ignore its cancellation, or wait for something that never comes; a run has to end all the same. So
the recorder of a run waits for a separate task that drives it, and stops waiting after `PATIENCE`.
The task never raises: what ended it is its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

AGAIN = 0.2
"""Seconds until a task is cancelled again: some code takes one cancellation for a failure, and continues."""

PATIENCE = 1.0
"""Seconds between the first cancellation of a task and the moment at which it is abandoned. Whoever stops a
run has waited before (`pipeline.runs.CANCEL_GRACE`), and a drain has one second for this."""

CLOSING = 5.0
"""Seconds in which a task that has failed may clean up before it is cancelled."""

_Result = TypeVar("_Result")


class Abandoned(Exception):
    """The task did not end when it was cancelled, and is not waited for any more."""


class AgentTask(Generic[_Result]):
    """A task that is awaited."""

    def __init__(self, coro: Coroutine[Any, Any, _Result], name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._failure: BaseException | None = None
        self._cancelled_at: float | None = None
        self._over = asyncio.Event()
        self.was_interrupted = False
        """Whether the waiting task was cancelled."""
        self.task = asyncio.create_task(_result_of(coro), name=name)
        self.task.add_done_callback(lambda _: self._over.set())

    async def wait(self) -> _Result | BaseException:
        """Return what the task returned or raised, or `Abandoned`. Being cancelled cancels the task."""
        while not self._over.is_set():
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                self.was_interrupted = True
                self.cancel()
        if not self.task.done():
            return self._failure or Abandoned()
        return asyncio.CancelledError() if self.task.cancelled() else self.task.result()

    def cancel(self) -> None:
        """Cancel the task until it has ended or is abandoned; repeating it changes nothing."""
        if self._cancelled_at is None:
            self._cancelled_at = self._loop.time()
            self._insist(self._cancelled_at)

    def close(self, failure: BaseException) -> None:
        """Give the task, which has failed, a limited time to clean up."""
        self._failure = failure
        self._loop.call_later(CLOSING, self.cancel)

    def _insist(self, since: float) -> None:
        if self.task.done():
            return
        self.task.cancel()
        is_patient = self._loop.time() - since < PATIENCE
        if not is_patient:
            self._over.set()
        # Also of an abandoned task: once its tool returns, nothing more is to be done.
        self._loop.call_later(AGAIN if is_patient else PATIENCE, self._insist, since)


async def _result_of(coro: Coroutine[Any, Any, _Result]) -> _Result | BaseException:
    try:
        return await coro
    except BaseException as error:  # The one who waits decides what it means.
        return error
