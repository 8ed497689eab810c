"""Threads for synchronous tools: one that blocks does not stop the streams of everybody else.

    from adk_prism import tool_threads

    app = App(name="support", root_agent=agent, plugins=[tool_threads(0)])

google-adk 2.13 calls a `def` tool, and a `def` function of a workflow, on the event loop unless its RunConfig
has a `tool_thread_pool_config`. With one, only these functions run in threads; callbacks and `async def`
tools stay on the loop (`utils/_sync_runner.py`). In a live run the same setting would move `async def` tools
to loops of their own as well, so it is not used there. An app opts out, or has threads of its own number, by
the plugin above; a folder's app that is a bare `root_agent` by a variable of its module: `tool_threads = 0`.

A thread cannot be stopped: of a run that is stopped, the tool's function goes on until it returns.

On Python 3.11 a `StopIteration` that leaves a function in a thread is never told to whoever waits for it: so
there the pool is one that tells it as later versions do, put where ADK looks for its own.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from google.adk.agents.run_config import ToolThreadPoolConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner

MOST = 1024
"""Threads: more than any process should have."""

_TELLS_STOP_ITERATION = sys.version_info >= (3, 12)
_Result = TypeVar("_Result")


class ToolThreads(BasePlugin):
    """The declaration. It has no hook, so under any other server the app behaves as without it."""

    def __init__(self, count: int) -> None:
        super().__init__(name="adk_prism_tool_threads")
        self.count = count


def tool_threads(count: int) -> BasePlugin:
    """Return the plugin that gives an app's synchronous tools so many threads; 0: the event loop.

    Raise `ValueError` for a number that cannot be.
    """
    if not 0 <= count <= MOST:
        raise ValueError(f"`tool_threads` must be a number from 0 to {MOST}, got {count!r}.")
    return ToolThreads(count)


def declared_threads(runner: Runner) -> int | None:
    """Return the number that the Runner's app declares; None if it does not say."""
    declared = [each for each in runner.plugin_manager.plugins if isinstance(each, ToolThreads)]
    return declared[-1].count if declared else None


def threads_of_module(app: str) -> list[BasePlugin]:
    """Return the plugin for an app of a folder whose module has `tool_threads = N`."""
    modules = (sys.modules.get(name) for name in (f"{app}.agent", app))
    counts = [getattr(module, "tool_threads", None) for module in modules]
    return [tool_threads(count) for count in counts if type(count) is int][:1]


def thread_pool(count: int) -> ToolThreadPoolConfig | None:
    """Return the setting of a run; None: its synchronous tools are called on the event loop."""
    if not count or not (_TELLS_STOP_ITERATION or _prepare_pool(count)):
        return None
    return ToolThreadPoolConfig(max_workers=count)


class _TellingPool(ThreadPoolExecutor):
    """A pool that tells of a `StopIteration` in the way of Python 3.12."""

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        def telling() -> _Result:
            try:
                return fn(*args, **kwargs)
            except StopIteration as error:
                raise RuntimeError("A function in a thread raised StopIteration.") from error

        return super().submit(telling)


def _prepare_pool(count: int) -> bool:
    """Put our pool where ADK looks for its own; tell whether that could be done."""
    try:
        from google.adk.utils._sync_runner import _TOOL_THREAD_POOL_LOCK as lock
        from google.adk.utils._sync_runner import _TOOL_THREAD_POOLS as pools
    except ImportError:  # Another version of ADK keeps them elsewhere: then there are no threads.
        return False
    loop = asyncio.get_running_loop()
    with lock:
        of_loop = pools.setdefault(loop, {})
        if count not in of_loop:
            pool = _TellingPool(max_workers=count, thread_name_prefix="adk_tool_executor")
            of_loop[count] = pool
            weakref.finalize(loop, pool.shutdown, wait=False)
    return True
