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

import msgspec
from msgspec import Struct, structs

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import ABORTED, BLOCK_REASONS, FINISH_REASONS, AdkEvent
from adk_prism.facts.open_calls import Calls
from adk_prism.facts.state import is_given, read_value
from adk_prism.log.entry import NodeEnded, NodeStarted, Outcome

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


def ending_text(over: fact.RunOver) -> str:
    """Return why a run did not finish, for people: the same in every protocol and screen."""
    if over.outcome == "incomplete":
        return INCOMPLETE
    if over.message:
        return f"{over.code}: {over.message}"
    return failure_text(over.code)


def failure_text(code: str) -> str:
    """Return that a run failed, with its code, in a sentence for people."""
    return f"{_ENDINGS.get(code, 'The run failed')} ({code or 'error'})."


def with_reference(over: fact.RunOver) -> str:
    """Return the same with the reference by which an operator finds the cause."""
    text = ending_text(over)
    if not over.correlation:
        return text
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'} Reference: {over.correlation}."


def takeover_text(in_doubt: Sequence[str]) -> str:
    """Return what to say about a takeover and the calls that it leaves in doubt."""
    doubt = f" These calls may have run already: {', '.join(in_doubt)}." if in_doubt else ""
    return f"Resumed after a server restart.{doubt}"


# ---------------------------------------------------------------------------
# What a run repeats after another process has taken it over.
#
# google-adk 2.13, when resumed, runs agents below an unanswered call again from their input, finished
# ones included, so their earlier texts are superseded. A workflow emits the outputs of its finished
# nodes again; those repetitions are dropped.

_READ = frozenset((fact.BlockEnded, fact.NodeOutput))
"""The facts that matter here."""


class Retries:
    """Tracks what a later attempt may repeat."""

    def __init__(self) -> None:
        self._ended: dict[str, fact.Speaker] = {}
        """Blocks of agents that a call runs, by id."""
        self._running: dict[str, str] = {}
        """Nodes that run, and their paths."""
        self._done: set[str] = set()
        """Paths of nodes that have finished."""
        self._repeatable: set[str] = set()
        """Those whose output may be repeated, once."""

    def begin(self, record: NodeStarted) -> None:
        """Take the start of a node."""
        if record.path:
            self._running[record.node] = record.path

    def end(self, record: NodeEnded) -> None:
        """Take the end of a node."""
        path = self._running.pop(record.node, "")
        if path and record.status == "finished":
            self._done.add(path)

    def feed(self, facts: list[fact.Fact]) -> list[fact.Fact]:
        """Read the facts of an event; return them without repeated outputs."""
        if _READ.isdisjoint(map(type, facts)):
            return facts
        repeats = False
        for item in facts:
            if type(item) is fact.BlockEnded:
                if item.speaker.branch or "/" in item.speaker.path:
                    self._ended[item.block] = item.speaker
            elif type(item) is fact.NodeOutput:
                path = item.speaker.path
                repeats = repeats or path in self._repeatable
                self._done.add(path)
        return [item for item in facts if not self._is_repeat(item)] if repeats else facts

    def _is_repeat(self, item: fact.Fact) -> bool:
        if not isinstance(item, fact.NodeOutput) or item.speaker.path not in self._repeatable:
            return False
        self._repeatable.discard(item.speaker.path)
        return True

    def superseded(self, calls: Calls) -> list[str]:
        """Begin another attempt; return the blocks of agents that run again."""
        self._repeatable = self._done - {""}
        found = [block for block, who in self._ended.items() if any(calls.running(who))]
        for block in found:
            del self._ended[block]
        return found


# ---------------------------------------------------------------------------
# What a run says that gives the user no text: the output of its last node. Pure.
#
# The last node of a workflow may only return a value. ADK stores that as an event's `output`, which
# chat clients do not draw, so the answer would be empty. A run that says anything itself has no such
# text, nor has one that waits, fails or is stopped.

BLOCK = "text-output"
"""Id of the block, and of its model call, which there was not."""


class OutputText:
    """The last output of a run, as long as nothing is said."""

    def __init__(self) -> None:
        self._is_said = False
        self._last: fact.NodeOutput | None = None

    def feed(self, facts: Sequence[fact.Fact]) -> None:
        """Read what a whole event means."""
        if self._is_said:
            return
        for item in facts:
            if type(item) is fact.BlockBegan and item.kind == "text":
                self._is_said = True
            elif type(item) is fact.NodeOutput:
                self._last = item

    def end(self) -> list[fact.Fact]:
        """Return the text of a run that finished without saying anything; nothing if it has no output."""
        if self._is_said or self._last is None:
            return []
        value = read_value(bytes(self._last.output))
        text = value if isinstance(value, str) else _written(bytes(self._last.output))
        if not text.strip():
            return []
        # The answer of the run, not of the node: that has ended.
        speaker = structs.replace(self._last.speaker, path="", branch="")
        return [
            fact.BlockBegan(BLOCK, "text", speaker, BLOCK, ""),
            fact.BlockGrew(BLOCK, "text", text),
            fact.BlockEnded(BLOCK, "text", speaker, ""),
        ]


def _written(output: bytes) -> str:
    """Return a value as people read JSON."""
    try:
        return msgspec.json.format(output, indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return output.decode(errors="replace")
