"""What leaves a Runner and is no `Exception`: a cancellation, a panic of a native library, `SystemExit`.

google-adk 2.13 calls no plugin for them. So the Runner's two generators are wrapped, for the whole process
and once, before the first run: a wrapper passes events and exceptions on as they are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from functools import wraps
from typing import Any

from google.adk.events.event import Event
from google.adk.runners import Runner

_METHODS = ("run_async", "run_live")
_Run = Callable[..., AsyncGenerator[Event, None]]
_OBSERVED: list[_Run] = []
"""The wrappers that are in place."""


class RunnerCall:
    """One call of a Runner."""

    def __init__(self) -> None:
        self.on_error: Callable[[BaseException], Awaitable[None]] | None = None
        """Called with what the Runner raises; it must not raise."""


CURRENT: ContextVar[RunnerCall | None] = ContextVar("adk_prism_runner_call", default=None)
"""The call whose first step runs."""


def observe_runners() -> None:
    """Wrap the Runner's methods; repeating it changes nothing."""
    for name in _METHODS:
        method = getattr(Runner, name)
        if method not in _OBSERVED:
            _OBSERVED.append(_observed(method))
            setattr(Runner, name, _OBSERVED[-1])


def _observed(method: _Run) -> _Run:
    @wraps(method)
    async def run(*given: Any, **named: Any) -> AsyncGenerator[Event, None]:
        call = RunnerCall()
        CURRENT.set(call)
        try:
            async with aclosing(method(*given, **named)) as events:
                async for event in events:
                    yield event
        except GeneratorExit:
            raise  # Plugins are told of a reader that stops.
        except BaseException as error:
            if call.on_error is not None:
                await call.on_error(error)
            raise
        finally:
            call.on_error = None

    return run
