"""Tools: which are at work, their threads and time limits, calls that were denied, calls in doubt.

Synchronous tools have threads, so that a blocking tool does not stop all other streams:

    from adk_prism import limit_tool_threads

    app = App(name="support", root_agent=agent, plugins=[limit_tool_threads(0)])

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

import asyncio
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import Any, Literal, TypeVar

from google.adk.agents.run_config import ToolThreadPoolConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools import BaseTool, ToolContext
from msgspec import Struct

from adk_prism.adk.internals.runner import install_pool
from adk_prism.errors import Diagnostic, Report, UsageError

# ---------------------------------------------------------------------------
# Which tools of a run are still running, also after the run was stopped.
#
# A call runs from `before_tool` to its answer or error. A thread cannot be stopped: a function that
# runs in one continues when the call is cancelled. So the threads that a call starts are tracked too,
# if they come from ADK's pool for tools (`adk.tool_threads`) or from the event loop's own
# (`asyncio.to_thread`). Threads that a tool creates in another way are not seen.


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
        # In the thread itself: for Python this is one step.
        future.add_done_callback(lambda done: self._threads.pop(done, None))

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


# ---------------------------------------------------------------------------

MOST = 1024
"""Threads: more than any process should have."""

_REPORTS_STOP_ITERATION = sys.version_info >= (3, 12)

_Result = TypeVar("_Result")


class ToolThreads(BasePlugin):
    """The declaration. It has no hook, so under any other server the app behaves as without it."""

    def __init__(self, count: int) -> None:
        super().__init__(name="adk_prism_tool_threads")
        self.count = count


def limit_tool_threads(count: int) -> BasePlugin:
    """Return the plugin that gives an app's synchronous tools so many threads; 0: the event loop.

    Raise `ValueError` for a number out of range.
    """
    if not 0 <= count <= MOST:
        raise ValueError(f"`limit_tool_threads` takes a number from 0 to {MOST}, got {count!r}.")
    return ToolThreads(count)


def declared_threads(runner: Runner) -> int | None:
    """Return the number that the Runner's app declares; None if it does not say."""
    declared = [each for each in runner.plugin_manager.plugins if isinstance(each, ToolThreads)]
    return declared[-1].count if declared else None


def threads_of_module(app: str) -> list[BasePlugin]:
    """Return the plugin for an app of a folder whose module has `tool_threads = N`."""
    counts = module_values(app, "tool_threads")
    return [limit_tool_threads(count) for count in counts if type(count) is int][:1]


def module_values(app: str, name: str) -> list[Any]:
    """Return what a variable is in the modules of an app of a folder; None where it is not there."""
    modules = (sys.modules.get(module) for module in (f"{app}.agent", app))
    return [getattr(module, name, None) for module in modules]


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


# ---------------------------------------------------------------------------
# Time limits for tool calls: a call that takes longer fails, and the agent goes on with the error.
#
#     @tool_timeout(30)
#     async def search(words: str) -> dict: ...
#
# The operator's limit for a tool by name (`--tool-timeout NAME=TIME`) comes first, then the tool's
# own, then the operator's for all (`--tool-timeout TIME`). Without any, a call takes as long as it
# takes.
#
# An `async def` tool is cancelled. A thread cannot be stopped: the function of a `def` tool
# continues, its result counts for nothing, and the operator is told. A `def` tool that runs on the
# event loop (`limit_tool_threads(0)`) blocks the clock too: it is not limited. Nor are tools of voice
# conversations.
#
# The plugin is the last of a Runner's: whoever answers for a tool, or for its error, comes before it.

TIMEOUT_PLUGIN = "adk_prism_tool_timeouts"

CANCELLING = 1.0
"""Seconds in which a tool that was cancelled may clean up; after that it is not waited for."""

_TIMEOUT_MARK = "adk_prism_tool_timeout"

_LIMITED = "_adk_prism_limited"

Tool = TypeVar("Tool", bound=Callable[..., Any] | BaseTool)


def _mark(name: str, value: object) -> Callable[[Tool], Tool]:
    def mark(tool: Tool) -> Tool:
        setattr(tool, name, value)
        return tool

    return mark


def _mark_of(tool: BaseTool, name: str) -> Any:
    """Return what a tool, or the function that it calls, declares under a name; None if nothing."""
    return getattr(tool, name, None) or getattr(getattr(tool, "func", None), name, None)


class ToolTimedOut(Exception):
    """A tool did not end in time."""


class ToolTimeouts(Struct, frozen=True):
    """The operator's limits, in seconds; 0: none."""

    seconds: float = 0.0
    tools: Mapping[str, float] = {}
    """Limits of single tools, by name."""

    def of(self, tool: BaseTool) -> float:
        """Return the limit of a call of a tool."""
        return self.tools.get(tool.name) or _mark_of(tool, _TIMEOUT_MARK) or self.seconds


NO_TIMEOUTS = ToolTimeouts()


def tool_timeout(seconds: float) -> Callable[[Tool], Tool]:
    """Declare how long a call of this tool may take; longer, it fails. Raise `UsageError` for 0 or less."""
    if not seconds > 0:
        raise UsageError(f"The timeout of a tool must be above 0 seconds, got {seconds!r}.")
    return _mark(_TIMEOUT_MARK, float(seconds))


class TimeoutPlugin(BasePlugin):
    """Limits tool calls, and answers those that took too long."""

    def __init__(self, limits: ToolTimeouts, report: Report) -> None:
        super().__init__(name=TIMEOUT_PLUGIN)
        self._limits = limits
        self._report = report

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """See that the call that follows ends in time."""
        del tool_args, tool_context
        # ADK calls a plugin before a tool and after it, and leaves the call itself to the tool.
        if self._limits.of(tool) and not hasattr(tool, _LIMITED):
            setattr(tool, _LIMITED, True)
            tool.run_async = self._limited(tool)  # type: ignore[method-assign] # of this tool alone

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Answer for a tool that took too long; leave every other error to ADK."""
        del tool, tool_args, tool_context
        return {"error": str(error)} if isinstance(error, ToolTimedOut) else None

    def _limited(self, tool: BaseTool) -> Callable[..., Any]:
        run = tool.run_async

        async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
            seconds = self._limits.of(tool)
            call = asyncio.ensure_future(run(args=args, tool_context=tool_context))
            try:
                done, _ = await asyncio.wait([call], timeout=seconds)
                if not done:
                    call.cancel()
                    await asyncio.wait([call], timeout=CANCELLING)
            except asyncio.CancelledError:
                call.cancel()
                await asyncio.wait([call])
                raise
            if done:
                return call.result()
            call.add_done_callback(_ignore_late)
            self._tell(tool, tool_context, seconds)
            raise ToolTimedOut(f"The tool {tool.name} did not end within {seconds:g} seconds.")

        return run_async

    def _tell(self, tool: BaseTool, context: ToolContext, seconds: float) -> None:
        work = WORK.get()
        runs = work is not None and work.has_thread(tool.name)
        self._report(
            Diagnostic(
                kind="tool timed out",
                detail=f"{tool.name} did not end within {seconds:g} s"
                + ("; its thread still runs, and its result will be ignored." if runs else "."),
                app=context.session.app_name,
            )
        )


def _ignore_late(call: asyncio.Future[Any]) -> None:
    if not call.cancelled():
        call.exception()  # Retrieved: the call has been answered.


# ---------------------------------------------------------------------------
# Tools that the operator lets run only with an approval.
#
# ADK asks of each call whether its tool requires a confirmation, and does the rest: so does this package
# where it runs tools itself. So such a tool is made to say yes, before it is called for the first time.

APPROVAL_PLUGIN = "adk_prism_approvals"
_ASKS = "_adk_prism_asks"
"""Marks a tool that was changed."""


class ApprovalPlugin(BasePlugin):
    """Makes tools ask for an approval."""

    def __init__(self, needs_approval: Callable[[str], bool]) -> None:
        super().__init__(name=APPROVAL_PLUGIN)
        self._needs_approval = needs_approval

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """See that a tool asks that has to."""
        del tool_args, tool_context
        if self._needs_approval(tool.name) and not hasattr(tool, _ASKS):
            setattr(tool, _ASKS, True)
            tool.check_require_confirmation = _always  # type: ignore[method-assign] # of this tool alone


async def _always(args: dict[str, Any], tool_context: ToolContext) -> bool:
    del args, tool_context
    return True


def ask_before(runner: Runner, needs_approval: Callable[[str], bool]) -> None:
    """Make the tools of a Runner ask whose names say so; its other plugins see tools that ask."""
    if runner.plugin_manager.get_plugin(APPROVAL_PLUGIN) is None:
        runner.plugin_manager.plugins.insert(0, ApprovalPlugin(needs_approval))


# ---------------------------------------------------------------------------
# The reason for a denied tool call, which the model is given.
#
# ADK answers a denied call with a fixed text (`tools/_confirmation_utils.py`). What the person wrote stays
# in the confirmation's payload, which only the tool could read, and it does not run. This plugin answers
# instead of the tool, with ADK's text followed by the reason. It acts only for tools that ADK itself gates
# (`require_confirmation`): a tool that asks by itself reads its own payload.

REASON = "reason"
"""Key of the confirmation's payload that holds the person's words."""


class DenialReasonPlugin(BasePlugin):
    """Gives the model the reason of a denial."""

    def __init__(self, name: str = "adk_prism_denial") -> None:
        super().__init__(name=name)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Answer a denied call that comes with a reason; let every other call pass."""
        confirmation = tool_context.tool_confirmation
        if confirmation is None or confirmation.confirmed:
            return None
        payload = confirmation.payload
        reason = payload.get(REASON) if isinstance(payload, Mapping) else None
        if not isinstance(reason, str) or not reason:
            return None
        if not await tool.check_require_confirmation(tool_args, tool_context):
            return None
        return {"error": f"This tool call is rejected. Reason: {reason}"}


# ---------------------------------------------------------------------------
# Calls in doubt: a process died while they ran, so it is unknown whether they took effect.
#
# When an invocation is resumed, ADK runs a call without an answer again: at least once, not exactly
# once. What is right depends on the tool, so a tool can declare a policy, or that it can be repeated
# safely:
#
#     @on_crash("ask")
#     def send_letter(text: str) -> dict: ...
#
#     @idempotent
#     def transfer(amount: int, tool_context: ToolContext) -> dict:
#         return bank.transfer(amount, key=idempotency_key(tool_context))
#
# The key is the same each time the call runs, and no other call has it. The operator's policy for a
# tool by name (`--on-crash-tool`) comes first, then the tool's own, then the operator's for all
# (`--on-crash`).

Policy = Literal["retry", "fail", "ask"]
"""Run the call again, answer it with an error, or ask a person first."""

POLICIES: tuple[Policy, ...] = ("retry", "fail", "ask")

_DOUBT_MARK = "adk_prism_in_doubt"

_FAILED = (
    "This call was under way when the server died, may have taken effect, and was not repeated."
)

_ASKED = (
    "This call was under way when the server died: it may have taken effect already. Run it again?"
)

_WAITS = "A person is asked whether to repeat this call."

_REJECTED = "This tool call is rejected."


class InDoubt(Struct, frozen=True):
    """The operator's policy."""

    policy: Policy = "retry"
    tools: Mapping[str, Policy] = {}
    """Policies of single tools, by name."""

    def of(self, tool: BaseTool) -> Policy:
        """Return the policy for a call of a tool."""
        return self.tools.get(tool.name) or _mark_of(tool, _DOUBT_MARK) or self.policy


def on_crash(policy: Policy) -> Callable[[Tool], Tool]:
    """Declare what to do about a call of this tool that was running when its process died.

    `retry` runs it again, `fail` answers it with an error, `ask` asks a person first. Raise `UsageError`
    for anything else.
    """
    if policy not in POLICIES:
        raise UsageError(
            f"The policy for calls in doubt must be retry, fail or ask, got {policy!r}."
        )
    return _mark(_DOUBT_MARK, policy)


def idempotent(tool: Tool) -> Tool:
    """Mark a tool as one that may be repeated: it gives `idempotency_key` to whatever it changes."""
    return on_crash("retry")(tool)


def idempotency_key(tool_context: ToolContext) -> str:
    """Return a key that a call keeps when it runs again after a takeover."""
    return f"{tool_context.invocation_id}/{tool_context.function_call_id or ''}"


def answer_in_doubt(doubt: InDoubt, tool: BaseTool, context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt in place of the tool's; None lets it run."""
    policy = doubt.of(tool)
    if policy == "retry":
        return None
    if policy == "fail":
        return {"error": _FAILED}
    context.request_confirmation(hint=_ASKED)
    context.actions.skip_summarization = True
    return {"error": _WAITS}


def answer_denied(context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt that a person does not want repeated.

    ADK itself stops only tools with `require_confirmation`.
    """
    confirmation = context.tool_confirmation
    if confirmation is None or confirmation.confirmed:
        return None
    call = context.function_call_id or ""
    for event in reversed(context.session.events):
        asked = event.actions.requested_tool_confirmations.get(call)
        if asked is not None:
            return {"error": _REJECTED} if asked.hint == _ASKED else None
    return None
