"""When a run was complete: once, and never because it fell silent.

A run is complete at its end, which is a record in its log. A capture has no such record: there it is the
last event in which a model speaks, if no call is in that event and none is without its answer. Nothing
but the end of the file tells that an event was the last, so this is known no earlier; a file that breaks
off in the middle of a run is never complete.
"""

from __future__ import annotations

from collections.abc import Iterable

from adk_prism.facts import model as fact
from adk_prism.facts.event_class import EventClass, classify
from adk_prism.facts.model import Fact
from adk_prism.runlog.entry import AgentEvent, Entry, RunEnded, RunStarted

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
            self._captured = record.derived
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
