"""When a run was complete: once, and never because no events came for a while.

A run is complete at its end, which is a record in its log. A capture has no such record: there it is the
last event in which a model speaks, if no call is in that event and none is without its answer. Only
the end of the file shows that an event was the last one. A file that ends in the middle of a run is never
complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.model import Fact
from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import AgentEvent, Entry, RunEnded, RunStarted

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
