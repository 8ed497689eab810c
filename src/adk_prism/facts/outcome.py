"""How a run ended: one fold, for live runs and captures alike.

An error event is not the end: a retried node or a sub-agent may fail and the run still succeed. The run
failed if the Runner raised, or if the last text or output of the outermost speaker is an error. A capture
does not show whether the Runner raised; there an error that nothing follows is also the end. A finish
reason in `errorCode` (ADK puts MAX_TOKENS there) is not a failure.

A capture may also have been cut: then it ends in a partial event, which ADK always follows with the whole,
or with a call that the run itself had to answer. That is *incomplete*, unless it is known to have ended
otherwise: it failed, was cancelled, or waits for a person, which cancels what runs beside.

An error without an author is the server's own: some servers send it and end, others go on. It counts
only if nothing follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.facts.adk_event import ABORTED, BLOCK_REASONS, FINISH_REASONS, AdkEvent
from adk_prism.facts.json_value import is_given
from adk_prism.facts.model import RunOver
from adk_prism.runlog.entry import Outcome

WITHHELD = "The agent failed"
"""Beginning of the text that replaces an exception's in a log; it says no more than the code."""

_NO_DEPTH = 1 << 30


def is_finish(code: str) -> bool:
    """Return whether an error code is a model's reason to stop."""
    return code in FINISH_REASONS or code in BLOCK_REASONS


class _Failure(Struct, frozen=True):
    """The error of an event, and who raised it."""

    code: str = ""
    message: str = ""
    place: str = ""


_NONE = _Failure()


class Ending:
    """What the events so far say about the end."""

    __slots__ = ("_depth", "_last", "_outer", "_survived", "aborted", "finish", "is_partial")

    def __init__(self) -> None:
        self._depth = _NO_DEPTH
        self._outer = _NONE
        self._last = _NONE
        self._survived = _NONE
        """The error after which its speaker spoke again."""
        self.aborted = False
        self.finish = ""
        self.is_partial = False
        """The last event was a piece of one."""

    def note(self, event: AdkEvent) -> None:
        """Take a non-partial event."""
        code = event.error_code or ""
        if code == ABORTED:
            self.aborted = True
            return
        if not code and event.content is None and not is_given(event.output):
            return
        failed = _NONE
        if code and not is_finish(code):
            failed = _Failure(code, event.error_message or "", _place(event))
        self._last = failed
        if failed.code and not failed.place:
            return
        depth = _depth(event.node_info.path if event.node_info else "")
        if depth <= self._depth:
            self._depth, self._outer = depth, failed

    def succeed(self, path: str, finish: str) -> None:
        """Take a non-partial event of the node at `path` that has content and no error."""
        self._last = _NONE
        depth = _depth(path)
        if depth <= self._depth:
            self._depth, self._outer = depth, _NONE
        if finish:
            self.finish = finish

    def go_on(self, event: AdkEvent) -> None:
        """Take a partial event: a speaker that continues after its own error has survived it."""
        self.is_partial = True
        if self._last.code and self._last.place in ("", _place(event)):
            self._survived = self._last

    def message(self, code: str) -> str:
        """Return the message of the failure that ended the run; empty if it was withheld."""
        for failure in (self._outer, self._last):
            if code and failure.code == code and not failure.message.startswith(WITHHELD):
                return failure.message
        return ""

    def outcome(
        self, *, awaiting: bool, captured: bool = False, owing: bool = False
    ) -> tuple[Outcome, str]:
        """Return outcome and error code of a run whose source is exhausted.

        `owing`: a call has no answer that the run itself had to give.
        """
        if self.aborted:
            return "cancelled", ""
        is_served = not self._last.place
        failures = (self._outer, self._last) if captured or is_served else (self._outer,)
        for failure in failures:
            if failure.code and not (captured and failure is self._survived):
                return "failed", failure.code
        if awaiting:
            return "waiting", ""
        return ("incomplete" if captured and (owing or self.is_partial) else "finished"), ""


def _depth(path: str) -> int:
    """Return how deep a node is; 0 for a speaker that is none."""
    return path.count("/") + 1 if path else 0


def _place(event: AdkEvent) -> str:
    path = event.node_info.path if event.node_info else ""
    return path or event.author


BROKEN: tuple[Outcome, ...] = ("failed", "incomplete")
"""Outcomes of runs that did not finish."""

INCOMPLETE = "The recording ends before the run did."

UNANSWERED = "The run stopped before this tool returned."
"""The result of a call that was open when its run ended."""


_ENDINGS = {
    "owner_lost": "The server or connection that ran this was lost before it had finished",
    "server_stopped": "The server was stopped before this had finished",
    "log_unavailable": "The server could not store what happened, so this was stopped",
}
"""Sentences for codes of our own that say nothing to whoever reads them."""


def ending_text(over: RunOver) -> str:
    """Return why a run did not finish, for people: the same in every protocol and screen."""
    if over.outcome == "incomplete":
        return INCOMPLETE
    if over.message:
        return f"{over.code}: {over.message}"
    return failure_text(over.code)


def failure_text(code: str) -> str:
    """Return that a run failed, with its code, in a sentence for people."""
    return f"{_ENDINGS.get(code, 'The run failed')} ({code or 'error'})."


def with_reference(over: RunOver) -> str:
    """Return the same with the reference by which an operator finds the cause."""
    text = ending_text(over)
    if not over.correlation:
        return text
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'} Reference: {over.correlation}."


def takeover_text(in_doubt: Sequence[str]) -> str:
    """Return what to say about a takeover and the calls that it leaves in doubt."""
    doubt = f" These calls may have run already: {', '.join(in_doubt)}." if in_doubt else ""
    return f"Resumed after a server restart.{doubt}"
