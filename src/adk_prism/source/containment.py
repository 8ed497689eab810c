"""What agent code raises ends its run, never the process.

asyncio lets `SystemExit` and `KeyboardInterrupt` of a task leave the event loop, and google-adk runs
tools, agents and workflow nodes in tasks of its own. So a task factory wraps every task that is created
while a run is recorded (`CONTAINED` is set in its context), including those that a tool leaves behind: a
`BaseException` leaves the task as `Escaped`, an ordinary exception whose class has the same name.

A cancellation leaves a task only if another task or the loop requested it. One that code raised, or that a
task requested of itself, is a failure too: ADK treats the cancellation of an agent's task as the end of the
run.

Not contained: ADK's own control flow (`NodeInterruptedError`), and what no `except` catches (`os._exit`, a
signal, a crash of the interpreter).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import Any, TypeVar

_ADK = "google.adk."
_Result = TypeVar("_Result")


class Escaped(Exception):
    """Stands for a `BaseException` that is not an `Exception`; its class has the name of what was raised."""


class Containment:
    """What escaped from the tasks of one run."""

    def __init__(self) -> None:
        self.first: Escaped | None = None
        """The first: later ones are often its consequences."""

    def take(self, error: BaseException) -> Escaped:
        """Return what was raised as an ordinary exception."""
        escaped = _escaped(error)
        self.first = self.first or escaped
        return escaped


CONTAINED: ContextVar[Containment | None] = ContextVar("adk_prism_contained", default=None)
"""Set in the task that records a run, and so in all that it starts."""


def contain(loop: asyncio.AbstractEventLoop) -> None:
    """Install the task factory on a loop; repeating it changes nothing."""
    before: Any = loop.get_task_factory()
    if not isinstance(before, _Factory):
        factory: Any = _Factory(before)  # typeshed's protocol for it is private
        loop.set_task_factory(factory)


def ordinary(error: BaseException) -> Exception:
    """Return an exception that a future can hold and a task can raise."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return _escaped(error)


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the exception to blame: the first leaf that is not a mere cancellation."""
    leaves = _leaves(group)
    return next(
        (leaf for leaf in leaves if not isinstance(leaf, asyncio.CancelledError)), leaves[0]
    )


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(reversed(error.exceptions))
        else:
            leaves.append(error)
    return leaves


def _escaped(error: BaseException) -> Escaped:
    cause = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
    kind = type(type(cause).__name__, (Escaped,), {"__module__": __name__})
    escaped: Escaped = kind()
    escaped.__cause__ = error
    return escaped


class _Task(asyncio.Task[Any]):
    """A task that counts the cancellations that it requested of itself."""

    own_requests = 0

    def cancel(self, msg: Any | None = None) -> bool:
        if _current() is self:
            self.own_requests += 1
        return super().cancel(msg)

    def uncancel(self) -> int:
        left = super().uncancel()
        self.own_requests = min(self.own_requests, left)
        return left


class _Factory:
    """Makes the tasks of a loop, as the factory before it did."""

    def __init__(self, before: Callable[..., asyncio.Future[Any]] | None) -> None:
        self._before = before

    def __call__(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        *,
        context: Context | None = None,
        **more: Any,
    ) -> asyncio.Future[Any]:
        active = CONTAINED.get() if context is None else context.get(CONTAINED)
        if context is not None:
            more["context"] = context
        if active is None or _is_asyncios_own(coro):
            return self._make(asyncio.Task, loop, coro, more)
        task = self._make(_Task, loop, _contained(coro, active), more)
        # If the task is cancelled before its first step, nothing else closes the coroutine.
        task.add_done_callback(lambda _: coro.close())
        return task

    def _make(
        self,
        kind: type[asyncio.Task[Any]],
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        more: dict[str, Any],
    ) -> asyncio.Future[Any]:
        if self._before is not None:
            return self._before(loop, coro, **more)
        return kind(coro, loop=loop, **more)


_WAITS = {asyncio.Queue.get.__code__: asyncio.Queue, asyncio.Event.wait.__code__: asyncio.Event}
"""What waits without running code of an agent. google-adk makes such a task for every event."""


def _is_asyncios_own(coro: Coroutine[Any, Any, Any]) -> bool:
    """Return whether a coroutine, which has not begun, only waits for something of asyncio's."""
    if not isinstance(coro, CoroutineType):
        return False
    owner, frame = _WAITS.get(coro.cr_code), coro.cr_frame
    return owner is not None and frame is not None and type(frame.f_locals["self"]) is owner


async def _contained(coro: Coroutine[Any, Any, _Result], active: Containment) -> _Result:
    task = asyncio.current_task()
    try:
        return await coro
    except Exception:
        raise
    except BaseException as error:
        if _may_leave(error, task):
            raise
        raise active.take(error) from error


def _may_leave(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    if isinstance(error, asyncio.CancelledError):
        own = task.own_requests if isinstance(task, _Task) else 0
        return task is not None and task.cancelling() > own
    if isinstance(error, GeneratorExit):
        return _current() is not task  # The coroutine is being closed; no code raised it.
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_harmless, _leaves(error)))
    return _is_harmless(error)


def _is_harmless(error: BaseException) -> bool:
    return isinstance(error, Exception | asyncio.CancelledError) or any(
        kind.__module__.startswith(_ADK) for kind in type(error).__mro__
    )


def _current() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
