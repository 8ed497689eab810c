"""Time limits for tool calls: a call that takes longer fails, and the agent goes on with the error.

    @tool_timeout(30)
    async def search(words: str) -> dict: ...

The operator's limit for a tool by name (`--tool-timeout NAME=TIME`) comes first, then the tool's own, then
the operator's for all (`--tool-timeout TIME`). Without any, a call takes as long as it takes.

An `async def` tool is cancelled. A thread cannot be stopped: the function of a `def` tool continues, its
result counts for nothing, and the operator is told. A `def` tool that runs on the event loop
(`tool_threads(0)`) blocks the clock too: it is not limited. Nor are tools of voice conversations.

The plugin is the last of a Runner's: whoever answers for a tool, or for its error, comes before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from msgspec import Struct

from adk_prism.diagnostics import Diagnostic, Report, ignore
from adk_prism.errors import UsageError
from adk_prism.source.tool_work import WORK

NAME = "adk_prism_tool_timeouts"
CANCELLING = 1.0
"""Seconds in which a tool that was cancelled may clean up; after that it is not waited for."""

_MARK = "adk_prism_tool_timeout"
_LIMITED = "_adk_prism_limited"

Tool = TypeVar("Tool", bound=Callable[..., Any] | BaseTool)


class ToolTimedOut(Exception):
    """A tool did not end in time."""


class ToolTimeouts(Struct, frozen=True):
    """The operator's limits, in seconds; 0: none."""

    seconds: float = 0.0
    tools: Mapping[str, float] = {}
    """Limits of single tools, by name."""

    def of(self, tool: BaseTool) -> float:
        """Return the limit of a call of a tool."""
        return self.tools.get(tool.name) or _mark_of(tool) or self.seconds


NO_TIMEOUTS = ToolTimeouts()


def tool_timeout(seconds: float) -> Callable[[Tool], Tool]:
    """Declare how long a call of this tool may take; longer, it fails. Raise `UsageError` for 0 or less."""
    if not seconds > 0:
        raise UsageError(f"The timeout of a tool must be above 0 seconds, got {seconds!r}.")

    def mark(tool: Tool) -> Tool:
        setattr(tool, _MARK, float(seconds))
        return tool

    return mark


def limit_tools(runner: Runner, limits: ToolTimeouts, report: Report = ignore) -> None:
    """Limit the tools of a Runner from now on."""
    manager = runner.plugin_manager
    if manager.get_plugin(NAME) is None:
        manager.plugins.append(TimeoutPlugin(limits, report))


class TimeoutPlugin(BasePlugin):
    """Limits tool calls, and answers those that took too long."""

    def __init__(self, limits: ToolTimeouts, report: Report) -> None:
        super().__init__(name=NAME)
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


def _mark_of(tool: BaseTool) -> float:
    """Return the limit that a tool, or the function that it calls, declares; 0: none."""
    found: float = getattr(tool, _MARK, 0.0)
    return found or getattr(getattr(tool, "func", None), _MARK, 0.0)
