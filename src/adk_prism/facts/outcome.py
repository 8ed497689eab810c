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

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, structs

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import ABORTED, BLOCK_REASONS, FINISH_REASONS, AdkEvent, read_event
from adk_prism.facts.model import (
    BlockBegan,
    BlockEnded,
    BlockGrew,
    Fact,
    NodeOutput,
    RunOver,
    Speaker,
)
from adk_prism.facts.open_calls import Calls
from adk_prism.facts.state import is_given, read_value, repair
from adk_prism.log.entry import (
    DERIVED,
    AgentEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Outcome,
    RunEnded,
    RunStarted,
)

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


# ---------------------------------------------------------------------------
# When a run was complete: once, and never because no events came for a while.
#
# A run is complete at its end, which is a record in its log. A capture has no such record: there it
# is the last event in which a model speaks, if no call is in that event and none is without its
# answer. Only the end of the file shows that an event was the last one. A file that ends in the
# middle of a run is never complete.

EventClass = Literal["function call", "function response", "model text", "other"]
CLASSES: tuple[EventClass, ...] = ("function call", "function response", "model text", "other")

_USER = "user"


def event_class(event: AdkEvent) -> EventClass:
    """Return the class of an event, as clients of ADK's own stream distinguish events.

    A partial event only announces calls and answers, which come again with the whole one. `finishReason` is
    not used: ADK also puts STOP on turns that call.
    """
    parts = (event.content.parts if event.content is not None else None) or ()
    if not event.partial:
        if any(part.function_call is not None for part in parts):
            return "function call"
        if any(part.function_response is not None for part in parts):
            return "function response"
    says = any(part.text for part in parts) and event.author != _USER
    return "model text" if says else "other"


def classify(raw: bytes) -> EventClass:
    """Return the class of an event in a log; an event that cannot be read is *other*."""
    try:
        return event_class(read_event(raw))
    except (msgspec.MsgspecError, RecursionError):
        sound = repair(raw)
        return "other" if sound is raw else classify(sound)


_ANSWERS = (fact.CallAnswered, fact.CallFailed, fact.CallDenied, fact.CallAbandoned)


class Completion:
    """Follows one run to its completion."""

    def __init__(self) -> None:
        self.cursor: int | None = None
        """The entry that completed the run, once the run is over."""
        self.last: EventClass = "other"
        """The class of the newest event."""
        self._captured = False
        self._spoke: tuple[int, EventClass] = (0, "other")
        """The last event of a model."""
        self._unanswered: set[str] = set()

    def feed(self, entry: Entry, facts: Iterable[Fact]) -> bool:
        """Read an entry and its facts; return whether it makes the completion known."""
        record = entry.record
        if isinstance(record, AgentEvent):
            self._event(entry.cursor, record.event)
        elif isinstance(record, RunStarted):
            self._captured = DERIVED.read(record)
        elif isinstance(record, RunEnded):
            return self._end(entry.cursor, record)
        for item in facts:
            if isinstance(item, fact.CallRequested):
                self._unanswered.add(item.call)
            elif isinstance(item, _ANSWERS):
                self._unanswered.discard(item.call)
        return False

    def _event(self, cursor: int, raw: bytes) -> None:
        self.last = classify(raw)
        if self.last in ("function call", "model text"):
            self._spoke = cursor, self.last

    def _end(self, cursor: int, record: RunEnded) -> bool:
        spoke, kind = self._spoke
        if not self._captured:
            self.cursor = cursor
        elif record.outcome == "finished" and kind == "model text" and not self._unanswered:
            self.cursor = spoke
        return self.cursor is not None


# ---------------------------------------------------------------------------
# What a run repeats after another process has taken it over.
#
# google-adk 2.13, when resumed, runs agents below an unanswered call again from their input, finished
# ones included, so their earlier texts are superseded. A workflow emits the outputs of its finished
# nodes again; those repetitions are dropped.

_READ = frozenset((BlockEnded, NodeOutput))
"""The facts that matter here."""


class Retries:
    """Tracks what a later attempt may repeat."""

    def __init__(self) -> None:
        self._ended: dict[str, Speaker] = {}
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

    def feed(self, facts: list[Fact]) -> list[Fact]:
        """Read the facts of an event; return them without repeated outputs."""
        if _READ.isdisjoint(map(type, facts)):
            return facts
        repeats = False
        for item in facts:
            if type(item) is BlockEnded:
                if item.speaker.branch or "/" in item.speaker.path:
                    self._ended[item.block] = item.speaker
            elif type(item) is NodeOutput:
                path = item.speaker.path
                repeats = repeats or path in self._repeatable
                self._done.add(path)
        return [item for item in facts if not self._is_repeat(item)] if repeats else facts

    def _is_repeat(self, item: Fact) -> bool:
        if not isinstance(item, NodeOutput) or item.speaker.path not in self._repeatable:
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
        self._last: NodeOutput | None = None

    def feed(self, facts: Sequence[Fact]) -> None:
        """Read what a whole event means."""
        if self._is_said:
            return
        for item in facts:
            if type(item) is BlockBegan and item.kind == "text":
                self._is_said = True
            elif type(item) is NodeOutput:
                self._last = item

    def end(self) -> list[Fact]:
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
            BlockBegan(BLOCK, "text", speaker, BLOCK, ""),
            BlockGrew(BLOCK, "text", text),
            BlockEnded(BLOCK, "text", speaker, ""),
        ]


def _written(output: bytes) -> str:
    """Return a value as people read JSON."""
    try:
        return msgspec.json.format(output, indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return output.decode(errors="replace")
