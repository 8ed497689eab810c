"""The proof panel: proofs as they were known at any cursor, and when the run was complete.

Specialists are in the order of their first answers. The proof of the whole answer exists once the run is
over; its origin is *absent* if there is no proof. Sources of the model's provider are listed even if no
proof includes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.model import Fact
from adk_prism.facts.state import repair
from adk_prism.features.page.items import History, Item, Note, Tracked, written
from adk_prism.features.proof.model import Proof
from adk_prism.features.proof.subject_proof import NONE_STATED
from adk_prism.log.entry import DERIVED, AgentEvent, Entry, RunEnded, RunStarted

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

_WHOLE = "proof"


class ProofFilm:
    """The proofs of one run."""

    def __init__(self) -> None:
        self._proofs: dict[str, History[Proof]] = {}
        self._sources: list[Note] = []
        self._completion = Completion()
        self._classes: dict[EventClass, History[int]] = {}
        self._over: int | None = None

    def feed(self, entry: Entry, facts: Iterable[Fact]) -> None:
        """Read an entry and its facts."""
        facts = list(facts)
        self._completion.feed(entry, facts)
        if isinstance(entry.record, AgentEvent):
            counted = self._classes.setdefault(self._completion.last, History())
            counted.set(entry.cursor, (counted.values[-1] if counted.values else 0) + 1)
        elif isinstance(entry.record, RunEnded):
            self._over = entry.cursor
        for item in facts:
            if isinstance(item, fact.Annotated) and item.name == "proof":
                self._proofs.setdefault(item.id, History()).set(entry.cursor, item.value)
            elif isinstance(item, fact.SourceCited):
                cited = {"source": item.source, "title": item.title, "uri": item.uri}
                self._sources.append(Note(entry.cursor, cited))

    @property
    def completion(self) -> int | None:
        """Cursor of the entry that completed the answer; known when the run is over."""
        return self._completion.cursor if self._over is not None else None

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return proofs, sources and event counts, or what was added after a cursor."""
        proofs = (Tracked({"id": name}, history) for name, history in self._proofs.items())
        classes = (Tracked({"id": name}, history) for name, history in self._classes.items())
        return {
            "proofs": list(written(proofs, after)),
            "sources": list(written(self._sources, after)),
            "classes": list(written(classes, after)),
        }

    def at(self, cursor: int) -> dict[str, Any]:
        """Return what was known at a cursor."""
        shown = (
            self._shown(history, cursor) for name, history in self._proofs.items() if name != _WHOLE
        )
        return {
            "answer": self._answer(cursor),
            "specialists": [proof for proof in shown if proof is not None],
            "sources": [
                source.about() | {"cursor": source.since}
                for source in self._sources
                if source.since <= cursor
            ],
            "completion": self._completed(cursor),
            "events": {name: self._seen(name, cursor) for name in CLASSES},
        }

    def _seen(self, name: EventClass, cursor: int) -> int:
        history = self._classes.get(name)
        return (history.at(cursor) if history is not None else None) or 0

    def _answer(self, cursor: int) -> dict[str, Any] | None:
        if self._over is None or self._over > cursor:
            return None
        known = self._proofs.get(_WHOLE)
        proof = self._shown(known, cursor) if known is not None else None
        absent = {"origin": "absent", "confidence": None, "derivation": NONE_STATED}
        return proof or absent | {"readings": [], "citations": [], "reasoning_chain": []}

    def _shown(self, history: History[Proof], cursor: int) -> dict[str, Any] | None:
        index = history.index(cursor)
        if index < 0:
            return None
        proof: dict[str, Any] = msgspec.to_builtins(history.values[index])
        return proof | {"since": history.cursors[index]}

    def _completed(self, cursor: int) -> int | None:
        known = self._over is not None and self._over <= cursor
        return self.completion if known else None
