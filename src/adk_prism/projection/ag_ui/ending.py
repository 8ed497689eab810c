"""The last event of a run: finished, with what it waits for, or an error."""

from __future__ import annotations

from msgspec import UNSET, Struct

from adk_prism.facts.model import RunOver
from adk_prism.facts.outcome import BROKEN, with_reference
from adk_prism.projection.ag_ui.dialects import Dialect
from adk_prism.projection.ag_ui.frames import Json, RunError, RunFinished

STOPPED = "STOPPED"
"""The code of a run that somebody stopped, where the protocol has no outcome for it."""


class Ending(Struct, frozen=True):
    """What is known when a run ends."""

    thread: str
    run: str
    interrupts: list[Json]
    pending: list[str]
    """Calls that wait for the client."""
    usage: list[Json]


def ending(over: RunOver, how: Ending, speaks: Dialect) -> RunFinished | RunError:
    """Return the last event of a run."""
    usage = how.usage or UNSET
    if over.outcome in BROKEN:
        code = over.outcome if over.outcome == "incomplete" else over.code or "error"
        return RunError(with_reference(over), code, usage)
    if over.outcome == "cancelled" and not speaks.cancelled:
        return RunError("The run was stopped.", STOPPED, usage)
    return RunFinished(how.thread, how.run, _outcome(over, how, speaks), usage)


def _outcome(over: RunOver, how: Ending, speaks: Dialect) -> Json:
    if over.outcome == "cancelled":
        return {"type": "cancelled"}
    if how.interrupts:
        return {"type": "interrupt", "interrupts": how.interrupts}
    if how.pending and speaks.pending_calls:
        return {"type": "success", "pendingToolCallIds": how.pending}
    return {"type": "success"}
