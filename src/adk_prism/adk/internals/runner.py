"""What ADK's Runner does not tell: which task agent waits for a reply, and to plugins, how a run really goes.

*Paused tasks* are found by the Runner's own rule (`_find_active_task_scope`).

*Calls of a Runner*, for the recorder, in the process of an app that asks for it. google-adk 2.13 gives
plugins the context of an invocation, which names an agent but neither the Runner nor a root that is a
workflow. It calls no plugin for what leaves a Runner and is no `Exception`: a cancellation, a panic of a
native library, `SystemExit`. So the Runner's two generators are wrapped, for the whole process and once,
before the first run: a wrapper passes events and exceptions on as they are.

A plugin's own callback is not called for an event that another plugin has replaced before, and does not see
what a later one makes of it. So the call of all plugins is observed. The rules by which google-adk completes
a replaced event (`Runner._get_output_event`, `_consume_event_queue`) are repeated here.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from types import CodeType
from typing import Any

from google.adk import runners
from google.adk.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events.event import Event
from google.adk.flows.llm_flows import functions
from google.adk.models import BaseLlm, Gemini
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode, FunctionNode

from adk_prism.adk.internals import Capability, require

_find = getattr(runners, "_find_active_task_scope", None)


def paused_task_invocation(session: Session) -> str:
    """Return the invocation of a task agent that waits for the user's reply; empty if none does."""
    scope = _find(session) if _find is not None else None
    return scope[1] if scope else ""


def _probe_tasks() -> None:
    require(_find is not None, "google.adk.runners has no _find_active_task_scope.")
    assert _find is not None
    require(list(inspect.signature(_find).parameters) == ["session"], "It takes other arguments.")
    found = _find(Session(id="s", app_name="a", user_id="u"))
    require(found is None, "It finds a task in an empty session.")


PAUSED_TASKS = Capability(
    name="paused tasks",
    summary="continue the invocation of a workflow whose task agent asked the user something",
    without="the user's reply starts the workflow again from its first node",
    probe=_probe_tasks,
)

# --------------------------------------------------------------------------- calls of a Runner

_METHODS = ("run_async", "run_live")

_Run = Callable[..., AsyncGenerator[Event, None]]

_OBSERVED: list[_Run] = []
"""The wrappers that are in place."""


class RunnerCall:
    """One call of a Runner."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
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
    async def run(runner: Runner, *given: Any, **named: Any) -> AsyncGenerator[Event, None]:
        call = RunnerCall(runner)
        CURRENT.set(call)
        try:
            async with aclosing(method(runner, *given, **named)) as events:
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


# --------------------------------------------------------------------------- events

_KEPT = frozenset({"id", "invocation_id", "timestamp"})
"""Fields of an event that a plugin cannot replace."""

See = Callable[[InvocationContext, Event, Event | None], Awaitable[None]]
"""Takes an event that is about to be yielded, and what a plugin has put in its place. It must not raise."""


def observe_events(manager: PluginManager, see: See) -> None:
    """Call a function with every event that passes a plugin manager, once its plugins have been called."""
    call = manager.run_on_event_callback

    async def observed(*, invocation_context: InvocationContext, event: Event) -> Event | None:
        replaced = await call(invocation_context=invocation_context, event=event)
        await see(invocation_context, event, replaced)
        return replaced

    manager.run_on_event_callback = observed  # type: ignore[method-assign] # of this object only


def final_event(context: InvocationContext, event: Event, replaced: Event | None) -> Event:
    """Return the event that the Runner stores and yields."""
    if replaced is not None:
        given = {name: getattr(replaced, name) for name in replaced.model_fields_set - _KEPT}
        config = context.run_config
        if "custom_metadata" in given and config is not None and config.custom_metadata:
            given["custom_metadata"] = config.custom_metadata | (given["custom_metadata"] or {})
        given["author"] = given.get("author") or event.author
        event = event.model_copy(update=given)
    if event.node_info.message_as_output and event.content is not None and not event.partial:
        event = event.model_copy(update={"output": None})
    return event


# ---------------------------------------------------------------------------
# What ADK shows of agents and nodes to nobody: the node of a worker, the folder, and how an agent runs
# live.
#
# *Live support* is read from an agent as google-adk 2.13 would run it (`BaseAgent.run_live`), without
# opening
# a connection. It decides what the page offers, not what the server allows: a model that is not
# recognised
# here may still be live.
#
# *Live tools.* ADK creates a new FunctionTool for each plain function; the objects that a call will run
# are
# cached in the agent's own InvocationContext (`canonical_tools_cache`), which google-adk 2.13 gives to
# plugins
# only inside a CallbackContext (`_invocation_context`). Without it a call that waits for a person is not
# made
# non-blocking: the approval works, but the agent does not speak meanwhile.


def worker_node(node: BaseNode) -> BaseNode:
    """Return the node that a parallel worker runs for each item of a list; any other node as it is."""
    inner = getattr(node, "_node", None)
    return inner if isinstance(inner, BaseNode) and inner.name == node.name else node


def origin_folder(root: BaseNode) -> Path | None:
    """Return the folder from which ADK's loader read an agent; None for one that was built in Python."""
    folder = getattr(root, "_adk_origin_path", None)
    return folder if isinstance(folder, Path) else None


def _probe_worker() -> None:
    from google.adk.workflow._parallel_worker import _ParallelWorker

    inner = FunctionNode(func=_nothing, name="probe")
    worker = _ParallelWorker(node=inner)
    require(worker_node(worker) is inner, "A parallel worker keeps its node elsewhere.")


def _nothing() -> None:
    """Do nothing: the function of the node that is probed."""


WORKERS = Capability(
    name="parallel workers",
    summary="see the node inside a parallel worker",
    without="parallel workers are shown without their node",
    probe=_probe_worker,
)

# --------------------------------------------------------------------------- live runs

_LIVE_GEMINI = re.compile(r"(?:^|-)(?:live|native-audio)(?:-|$)")
"""Gemini models of the Live API have this in their names; the others refuse a live connection."""


def supports_live(root: BaseNode) -> bool:
    """Return whether an agent can be run live."""
    match root:
        case LlmAgent():
            return _has_live_model(root)
        case SequentialAgent():
            return bool(root.sub_agents) and all(map(supports_live, root.sub_agents))
        case BaseAgent():
            return _implements_live(type(root))
        case _:
            return False  # a workflow: any of its nodes may come first


def _implements_live(kind: type[BaseAgent]) -> bool:
    code = getattr(getattr(kind, "_run_live_impl", None), "__code__", None)
    return code is not None and not refuses(code)


def refuses(code: CodeType) -> bool:
    """Return whether a method raises `NotImplementedError`.

    ADK has such methods in ParallelAgent, LoopAgent, RemoteA2aAgent, and in BaseAgent for subclasses that
    define none.
    """
    return "NotImplementedError" in code.co_names


def _has_live_model(agent: LlmAgent) -> bool:
    try:
        model = agent.canonical_live_model
    except (ValueError, ImportError):  # an unknown model name, or its package is not installed
        return False
    if type(model).connect is BaseLlm.connect:
        return False
    name = model.model.rpartition("/")[2]
    return not isinstance(model, Gemini) or _LIVE_GEMINI.search(name) is not None


def agent_context(context: ReadonlyContext) -> InvocationContext | None:
    """Return the InvocationContext of the agent that a callback is called for."""
    found = getattr(context, "_invocation_context", None)
    return found if isinstance(found, InvocationContext) else None


def find_tool(context: InvocationContext, name: str) -> BaseTool | None:
    """Return the tool of this name that ADK will call for the agent of a context."""
    tools = getattr(context, "canonical_tools_cache", None) or []
    return next((tool for tool in tools if tool.name == name), None)


def _probe_tools() -> str | None:
    if "canonical_tools_cache" not in InvocationContext.model_fields:
        return "InvocationContext has no canonical_tools_cache."
    context: Any = object()
    is_kept = getattr(ReadonlyContext(context), "_invocation_context", None) is context
    if not is_kept or not issubclass(CallbackContext, ReadonlyContext):
        return "CallbackContext has no _invocation_context."
    return None


def _probe_live() -> None:
    require(hasattr(BaseAgent, "_run_live_impl"), "BaseAgent has no _run_live_impl.")
    require(
        not _implements_live(BaseAgent) and not _implements_live(ParallelAgent),
        "BaseAgent and ParallelAgent no longer refuse live runs with NotImplementedError.",
    )


LIVE_AGENTS = Capability(
    name="live agents",
    summary="recognise which agents support live runs",
    without="only LlmAgent and SequentialAgent are offered for live runs",
    probe=_probe_live,
)

LIVE_TOOLS = Capability(
    name="live approvals",
    summary="let an agent speak while a tool call waits for a person",
    without="the approval works, but the agent does not speak meanwhile",
    probe=_probe_tools,
)

# --------------------------------------------------------------------------- models


def swap_class(model: BaseLlm, kind: type[BaseLlm]) -> bool:
    """Turn a model into one of a subclass of its class; return whether that is possible."""
    try:
        object.__setattr__(model, "__class__", kind)
    except TypeError:  # a class with slots of its own
        return False
    return True


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


async def _check_pools() -> bool:
    made: list[ThreadPoolExecutor] = []

    def make(count: int) -> ThreadPoolExecutor:
        made.append(ThreadPoolExecutor(count))
        return made[-1]

    return install_pool(make, 1) and adk_pool(1) is made[0]


def _probe_pools() -> None:
    # In a thread: the caller may have a running event loop.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(lambda: asyncio.run(_check_pools())).result()
    require(found, "google-adk keeps the thread pools of tools elsewhere.")


TOOL_THREADS = Capability(
    name="tool threads",
    summary="track the threads of synchronous tools, also after their run was stopped",
    without="synchronous tools run on the event loop with Python 3.11; later, their threads are not tracked",
    probe=_probe_pools,
)
