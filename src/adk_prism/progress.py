"""Progress of tools: what a tool says of its work before it returns.

A report becomes a partial event of the run, with the report under `PROGRESS` in its custom metadata: no
session stores it, no model sees it, and every protocol reads it from the log, like all other events.

A tool may report as often as it likes. Of each call the first report is recorded at once, and then the
newest after every pause; pauses grow, so a call that reports for an hour is recorded some hundred times.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event, NodeInfo
from google.adk.tools import ToolContext

from adk_prism.adk.plain_json import encode_strictly, plain
from adk_prism.adk.run_observer import RunObserver, observer_of
from adk_prism.facts.adk_event import PROGRESS

PAUSE = 0.1
"""Seconds between two recorded reports of a call, at least."""
SHARE = 0.01
"""The pause grows to this share of the time since the first report."""
LONGEST = 1000
"""Characters of a message."""
LARGEST_NUMBER = 2**53
"""A larger one is none: JavaScript could not tell it from its neighbours."""
LARGEST = 16 * 1024
"""Bytes of the data, as JSON."""


def report_progress(
    tool_context: ToolContext,
    done: float | None = None,
    total: float | None = None,
    message: str = "",
    data: Any = None,
) -> None:
    """Tell every client how far a tool is: `done` of `total`, with a message and data of its own.

    May be called from any thread, and as often as the tool likes. It never fails, and does nothing in a run
    that adk-prism does not record. Data that is too large is left out.
    """
    observer = observer_of(tool_context.invocation_id)
    if observer is None:
        return
    report: dict[str, Any] = {"call": tool_context.function_call_id or ""}
    report |= {k: v for k, v in (("done", done), ("total", total)) if _is_number(v)}
    text: Any = message  # whatever a tool gives
    if isinstance(text, str) and text:
        report["message"] = text[:LONGEST]
    if data is not None and len(encode_strictly(data)) <= LARGEST:
        report["data"] = plain(data)
    observer.call_in_loop(_take, observer, tool_context, report)


def _event(context: ToolContext, report: dict[str, Any]) -> Event:
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        branch=context.branch,
        node_info=NodeInfo(path=context.node_path),
        partial=True,
        custom_metadata={PROGRESS: report},
    )


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST_NUMBER  # false for NaN, too


class ReportProgress(Protocol):
    """How an MCP server's progress is passed on."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far the tool is."""


def mcp_progress(
    tool_name: str, *, callback_context: CallbackContext | None = None, **_: Any
) -> ReportProgress | None:
    """Return what reports an MCP server's progress: `McpToolset(..., progress_callback=mcp_progress)`."""
    del tool_name  # the call says it
    context = callback_context
    if not isinstance(context, ToolContext):
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        report_progress(context, progress, total, message or "")

    return report


# ---------------------------------------------------------------------------
# Which reports are recorded. All this happens in the event loop of the run.


@dataclass(slots=True)
class _Reports:
    """The reports of one call."""

    first: float
    last: float
    newest: dict[str, Any] | None = None
    """Waits for the end of a pause."""


_REPORTS: WeakKeyDictionary[RunObserver, dict[str, _Reports]] = WeakKeyDictionary()


def _take(observer: RunObserver, context: ToolContext, report: dict[str, Any]) -> None:
    """Record a report, or keep it until the pause is over."""
    loop = asyncio.get_running_loop()
    now, reports = loop.time(), _REPORTS.setdefault(observer, {})
    known = reports.get(report["call"])
    if known is None:
        reports[report["call"]] = _Reports(now, now)
        observer.tell(_event(context, report))
        return
    is_waiting = known.newest is not None
    known.newest = report
    if not is_waiting:
        pause = max(PAUSE, SHARE * (now - known.first))
        loop.call_at(max(now, known.last + pause), _record_newest, observer, context, known)


def _record_newest(observer: RunObserver, context: ToolContext, known: _Reports) -> None:
    if known.newest is not None:
        observer.tell(_event(context, known.newest))
    known.newest, known.last = None, asyncio.get_running_loop().time()
