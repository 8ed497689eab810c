"""How a run ended: one fold, for live runs and captures alike.

An error event is not the end: a retried node or a sub-agent may fail and the run still succeed. The run
failed if the Runner raised, or if the last that the outermost speaker said, or put out, is an error. A
capture does not tell whether the Runner raised; there an error that nothing follows is taken for the end
as well. A finish reason in `errorCode` (ADK puts MAX_TOKENS there) is no failure.
"""

from __future__ import annotations

from adk_prism.facts.adk_event import ABORTED, BLOCK_REASONS, FINISH_REASONS, AdkEvent
from adk_prism.facts.json_value import is_given
from adk_prism.runlog.entry import Outcome

_NO_DEPTH = 1 << 30


def is_finish(code: str) -> bool:
    """Tell whether an error code is a model's reason to stop."""
    return code in FINISH_REASONS or code in BLOCK_REASONS


class Ending:
    """What the events so far say about the end."""

    __slots__ = ("_depth", "_last_code", "_outer_code", "aborted", "finish")

    def __init__(self) -> None:
        self._depth = _NO_DEPTH
        self._outer_code = ""
        self._last_code = ""
        self.aborted = False
        self.finish = ""

    def note(self, event: AdkEvent) -> None:
        """Take a non-partial event."""
        code = event.error_code or ""
        if code == ABORTED:
            self.aborted = True
            return
        if not code and event.content is None and not is_given(event.output):
            return
        failed = code if code and not is_finish(code) else ""
        path = event.node_info.path if event.node_info else ""
        depth = path.count("/") + 1 if path else 0
        self._last_code = failed
        if depth <= self._depth:
            self._depth, self._outer_code = depth, failed

    def outcome(self, *, awaiting: bool, captured: bool = False) -> tuple[Outcome, str]:
        """Return outcome and error code of a run whose source is exhausted."""
        if self.aborted:
            return "cancelled", ""
        code = self._outer_code or (self._last_code if captured else "")
        if code:
            return "failed", code
        return ("waiting" if awaiting else "finished"), ""
