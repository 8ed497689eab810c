"""Invocations that a run's first record does not know: read from the run's events.

The server of a remote app chooses the invocation, and says so with the first event.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import aclosing

import msgspec
from msgspec import structs

from adk_prism.errors import Gone, NotFound
from adk_prism.facts.adk_event import read_event
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import AgentEvent, RunId

MOST = 4096
"""Invocations that are remembered; the others are read again."""


class LearnedInvocations:
    """Completes the summaries of runs."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._known: OrderedDict[RunId, str] = OrderedDict()

    async def complete(self, summary: RunSummary) -> RunSummary:
        """Return a summary with its run's invocation, as far as it is known."""
        if summary.invocation:
            return summary
        found = self._known.get(summary.run) or await self._read(summary.run)
        if not found:
            return summary
        self._known[summary.run] = found
        self._known.move_to_end(summary.run)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return structs.replace(summary, invocation=found)

    async def _read(self, run: RunId) -> str:
        try:
            async with aclosing(self._log.read(run)) as batches:
                async for batch in batches:
                    for entry in batch:
                        if isinstance(entry.record, AgentEvent):
                            return _invocation(entry.record.event)
        except (NotFound, Gone):  # Removed since it was listed.
            pass
        return ""


def _invocation(event: bytes) -> str:
    try:
        return read_event(event).invocation_id
    except msgspec.MsgspecError:
        return ""
