"""Threads for synchronous tools, so that a blocking tool does not stop all other streams.

    from adk_prism import tool_threads

    app = App(name="support", root_agent=agent, plugins=[tool_threads(0)])

google-adk calls a `def` tool, and a `def` function of a workflow, on the event loop unless its RunConfig
has a `tool_thread_pool_config`. With one, only these functions run in threads; callbacks and `async def`
tools stay on the loop. In a live run the same setting would also move `async def` tools to loops of their
own, so it is not used there. An app opts out, or sets its own number, with the plugin above; an app of a
folder that is a bare `root_agent` with a variable of its module: `tool_threads = 0`.

A thread cannot be stopped: after its run was stopped, a tool's function continues until it returns.

On Python 3.11 a `StopIteration` that leaves a function in a thread never reaches the caller that waits for
it. The pool that we install where ADK looks for its own reports it as later versions do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from google.adk.agents.run_config import ToolThreadPoolConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner

from adk_prism.source.adk.tool_thread_pool import install_pool
from adk_prism.source.tool_work import NotingExecutor

MOST = 1024
"""Threads: more than any process should have."""

_REPORTS_STOP_ITERATION = sys.version_info >= (3, 12)
_Result = TypeVar("_Result")


class ToolThreads(BasePlugin):
    """The declaration. It has no hook, so under any other server the app behaves as without it."""

    def __init__(self, count: int) -> None:
        super().__init__(name="adk_prism_tool_threads")
        self.count = count


def tool_threads(count: int) -> BasePlugin:
    """Return the plugin that gives an app's synchronous tools so many threads; 0: the event loop.

    Raise `ValueError` for a number out of range.
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
    if not count or not (install_pool(ToolThreadPool, count) or _REPORTS_STOP_ITERATION):
        return None
    return ToolThreadPoolConfig(max_workers=count)


class ToolThreadPool(NotingExecutor):
    """A pool whose threads are tracked, and which reports a `StopIteration` as Python 3.12 does."""

    reserved = 0

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers, thread_name_prefix="adk_tool_executor")

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Run a function in a thread."""

        def call() -> _Result:
            try:
                return fn(*args, **kwargs)
            except StopIteration as error:
                raise RuntimeError("A function in a thread raised StopIteration.") from error

        return super().submit(call)
