"""The research plan along a run: what a researcher sees of the state of the work, at any cursor.

Reads the `grounding:` keys of whatever app keeps them (`adk_prism.grounding`), and shows a value that
it cannot read as such instead of leaving it out. What changed is told since the run began: a run is one
message of the researcher, one answer, or one change made from a panel.

Receipts are items with the cursors between which they hold, found once, so that a long history costs
its length and not its square.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.model import Fact
from adk_prism.facts.state import read_value, repair
from adk_prism.features.grounding import shapes
from adk_prism.features.page.state import History, Item, Mark, Note, StateFilm, Tracked, written
from adk_prism.features.proof.model import Proof
from adk_prism.features.proof.subject_proof import NONE_STATED
from adk_prism.log.entry import DERIVED, AgentEvent, Entry, RunEnded, RunStarted

_HISTORY = shapes.key("search_history")
_CLOCK = re.compile(r"(?:^|T| )(\d\d:\d\d)")
_read_list = msgspec.json.Decoder(list[Raw]).decode


class _Receipt(Struct, kw_only=True):
    """One receipt, from the cursor that added it to the one that removed it, if any."""

    number: int
    """Its place in the history, from 1."""
    raw: Raw
    since: int
    until: int | None = None

    @property
    def touched(self) -> int:
        return self.since if self.until is None else self.until

    def about(self) -> dict[str, Any]:
        about = {"number": self.number, "receipt": self.raw}
        why = shapes.why_not_receipt(read_value(self.raw))
        return about | {"why": why} if why else about

    def marks(self) -> list[Mark]:
        return [] if self.until is None else [(self.until, {"gone": True})]

    def holds(self, cursor: int) -> bool:
        return self.since <= cursor and (self.until is None or cursor < self.until)


class GroundingFilm:
    """The grounding of one run, at every cursor, read from its state."""

    def __init__(self, state: StateFilm) -> None:
        self._state = state
        self._receipts: list[_Receipt] = []
        self._open: list[_Receipt] = []
        """Those that hold now, in the order of the history."""
        self._seen: Raw | None = None

    def feed(self, cursor: int) -> None:
        """Take what an entry did to the state, which has been fed with it."""
        history = self._state.latest(_HISTORY)
        if history is not self._seen:
            self._seen = history
            self._compare(cursor, _items(history))

    def _compare(self, cursor: int, items: list[Raw]) -> None:
        """Keep the receipts that are still there; a history grows at its end, as a rule."""
        kept = 0
        for receipt, item in zip(self._open, items, strict=False):
            if not _equal(receipt.raw, item):
                break
            kept += 1
        for receipt in self._open[kept:]:
            receipt.until = cursor
        # Copies: what msgspec decodes is a window on the whole history, and would keep each of them.
        fresh = [
            _Receipt(number=kept + index, raw=item.copy(), since=cursor)
            for index, item in enumerate(items[kept:], 1)
        ]
        self._open = self._open[:kept] + fresh
        self._receipts += fresh

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return the receipts, or what became of them after a cursor."""
        return {"receipts": list(written(self._receipts, after))}

    def at(self, cursor: int) -> dict[str, Any]:
        """Return the box at a cursor, and what is different from how the run began."""
        state = self._state.some_at(cursor, _is_box_value)
        found = shapes.read(state)
        receipts, unreadable = self._shown(cursor)
        failure = found.values.get("last_search_failure")
        return {
            "present": bool(state or receipts or unreadable),
            "box": found.values,
            "step": _step(found.values.get("stage")),
            "changed": self._state.difference(1, cursor, _is_box_value),
            "receipts": receipts,
            "remedies": _remedies(failure) if failure else [],
            "unreadable": [*found.unreadable, *unreadable],
        }

    def _shown(self, cursor: int) -> tuple[list[dict[str, Any]], list[shapes.Unreadable]]:
        shown: list[dict[str, Any]] = []
        unreadable: list[shapes.Unreadable] = []
        for receipt in self._receipts:
            if not receipt.holds(cursor):
                continue
            value = read_value(receipt.raw)
            if why := shapes.why_not_receipt(value):
                unreadable.append(
                    shapes.Unreadable(f"{_HISTORY}[{receipt.number - 1}]", value, why)
                )
                continue
            about = {"number": receipt.number, "since": receipt.since, "new": receipt.since > 1}
            shown.append(value | about | {"time": _clock(value["timestamp"])})
        return shown, unreadable


def _equal(one: Raw, other: Raw) -> bool:
    """Return whether two values are the same; one may have been written with other spaces."""
    if bytes(one) == bytes(other):
        return True
    return bool(read_value(one) == read_value(other))


def _is_box_value(name: str) -> bool:
    return name.startswith(shapes.PREFIX) and name != _HISTORY


def _items(history: Raw | None) -> list[Raw]:
    """Return the receipts of a history; a value that is not a list is shown as one receipt."""
    if history is None or bytes(history) == b"null":
        return []
    try:
        return _read_list(history)
    except msgspec.MsgspecError:
        return [history]


def _step(stage: Any) -> dict[str, int] | None:
    return (
        {"number": shapes.STAGES.index(stage) + 1, "of": len(shapes.STAGES)}
        if stage in shapes.STAGES
        else None
    )


def _clock(timestamp: str) -> str:
    """Return the time of day in a timestamp, as it is written; empty if there is none."""
    found = _CLOCK.search(timestamp)
    return found.group(1) if found else ""


def _remedies(failure: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the researcher can choose, numbered: the ready actions, else the words."""
    ready = failure.get("actions") or [
        {"name": name, "label": failure["remedies"][name]}
        for name in ("primary", "fallback")
        if failure["remedies"].get(name)
    ]
    return [{"number": number, **action} for number, action in enumerate(ready, 1)]


# ---------------------------------------------------------------------- proof panel
#
# The proof panel: proofs as they were known at any cursor, and when the run was complete.
#
# Specialists are in the order of their first answers. The proof of the whole answer exists once the run is
# over; its origin is *absent* if there is no proof. Sources of the model's provider are listed even if no
# proof includes them.


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
