"""The thread pools in which ADK runs synchronous tools.

google-adk keeps one pool per event loop and number of workers in a private registry. We put a pool of
our own there, which tracks the threads of each tool call.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from google.adk.flows.llm_flows import functions

from adk_prism.adk.internals import Capability, require

_POOLS = getattr(functions, "_TOOL_THREAD_POOLS", None)
_LOCK = getattr(functions, "_TOOL_THREAD_POOL_LOCK", None)


def install_pool(make: Callable[[int], ThreadPoolExecutor], max_workers: int) -> bool:
    """Put a pool where ADK looks for that of the running loop, unless there is one already.

    Return whether ADK's registry was found.
    """
    if _POOLS is None or _LOCK is None:
        return False
    loop = asyncio.get_running_loop()
    with _LOCK:
        pools = _POOLS.setdefault(loop, {})
        if max_workers not in pools:
            pool = pools[max_workers] = make(max_workers)
            weakref.finalize(loop, pool.shutdown, wait=False)
    return True


def adk_pool(max_workers: int) -> ThreadPoolExecutor:
    """Return the pool that ADK uses on the running loop."""
    pool: ThreadPoolExecutor = functions._get_tool_thread_pool(max_workers)
    return pool


async def _check() -> bool:
    made: list[ThreadPoolExecutor] = []

    def make(count: int) -> ThreadPoolExecutor:
        made.append(ThreadPoolExecutor(count))
        return made[-1]

    return install_pool(make, 1) and adk_pool(1) is made[0]


def _probe() -> None:
    # In a thread: the caller may have a running event loop.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(lambda: asyncio.run(_check())).result()
    require(found, "google-adk keeps the thread pools of tools elsewhere.")


CAPABILITY = Capability(
    name="tool threads",
    summary="track the threads of synchronous tools, also after their run was stopped",
    without="synchronous tools run on the event loop with Python 3.11; later, their threads are not tracked",
    probe=_probe,
)
