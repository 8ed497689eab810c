"""The film of a run: every panel folded once, and what each shows at a playhead.

A screen is a pure function of run and playhead. The film is fed entry by entry, live or from a recording,
and asked for any cursor it has been fed; both give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.errors import BadPosition, UsageError
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import read_value
from adk_prism.features.grounding.shapes import PREFIX, key, read
from adk_prism.features.page import state as state_panel
from adk_prism.features.page.conversation import ConversationFilm
from adk_prism.features.page.graph import FailureFilm, graph_at, node_runs_at
from adk_prism.features.page.panels import GroundingFilm, ProofFilm
from adk_prism.features.page.timeline import TimelineFilm
from adk_prism.features.proof.annotator import ProofAnnotator
from adk_prism.features.usage.usage import Prices
from adk_prism.log.entry import DERIVED, UPLOADED, Agent, Entry, RunEnded, RunStarted


class Film:
    """One run, at every cursor."""

    def __init__(self, prices: Prices | None = None) -> None:
        """With `prices`, the timeline shows what model calls cost."""
        self._reader = Reader(annotators=[ProofAnnotator()])
        self.state = state_panel.StateFilm()
        self.timeline = TimelineFilm(prices)
        self.conversation = ConversationFilm(self.timeline)
        self.proof = ProofFilm()
        self.grounding = GroundingFilm(self.state)
        self.artifacts = state_panel.ArtifactFilm()
        self.failures = FailureFilm()
        self.started: RunStarted | None = None
        """The first record; None only before anything was fed."""
        self.ended: tuple[int, RunEnded] | None = None
        """Cursor and record of the end."""
        self.last = 0
        """Cursor of the newest entry."""

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        self.last = entry.cursor
        self.timeline.tick(entry)
        if isinstance(entry.record, RunStarted):
            self.started = entry.record
            self.conversation.open(entry)
        elif isinstance(entry.record, RunEnded):
            self.ended = (entry.cursor, entry.record)
            self.failures.end(entry.cursor, entry.record)
        facts = self._reader.feed(entry)
        self.proof.feed(entry, facts)
        for fact in facts:
            self.state.feed(entry.cursor, fact)
            self.timeline.feed(entry, fact)
            self.conversation.feed(entry.cursor, fact)
            self.artifacts.feed(entry.cursor, fact)
            self.failures.feed(entry.cursor, fact)
        self.grounding.feed(entry.cursor)

    def at(
        self, cursor: int | None = None, panel: str = "", *, since: int | None = None, key: str = ""
    ) -> dict[str, Any]:
        """Return what the panels, or the one named, show at a cursor; without one, at the end.

        The panel `nodes` repeats what the others show, by node: it is returned only if named.
        Of the state, `since` asks for the difference to another cursor, before or after, and `key` for
        every write of one key. Raise `BadPosition` for a cursor the run does not have, `UsageError` for a
        panel.
        """
        at = self._checked(self.last if cursor is None else cursor)
        if panel and panel not in _PANELS:
            known = ", ".join(_PANELS)
            raise UsageError(f"Unknown panel {panel[:40]!r}; expected one of {known}.")
        names = [panel] if panel else [name for name in _PANELS if name != "nodes"]
        shown = {name: _PANELS[name](self, at) for name in names}
        if since is not None or key:
            if "state" not in shown:
                raise UsageError(f"The difference and the history are of the state, not {panel!r}.")
            shown["state"] |= self._asked_of_state(at, since, key)
        return self._header(at) | shown

    def _checked(self, cursor: int) -> int:
        if not 1 <= cursor <= self.last:
            raise BadPosition(
                f"Cursor {cursor} is not in this run, which has entries 1 to {self.last}."
            )
        return cursor

    def _asked_of_state(self, at: int, since: int | None, key: str) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        if since is not None:
            asked["from"] = self._checked(since)
            asked["difference"] = self.state.difference(since, at)
        if key:
            asked["key"], asked["history"] = key, self.state.history(key)
        return asked

    def _header(self, at: int) -> dict[str, Any]:
        started = self.started
        header: dict[str, Any] = {"at": at, "last": self.last}
        if started is not None:
            header["run"] = started.run
            header["app"] = started.origin.app
            header["session"] = started.origin.session
        over = self.ended is not None and self.ended[0] <= at
        header["outcome"] = self.ended[1].outcome if over and self.ended else None
        return header


def fold(entries: Iterable[Entry], prices: Prices | None = None) -> Film:
    """Return the film of a whole recording."""
    film = Film(prices)
    for entry in entries:
        film.feed(entry)
    return film


def _timeline_at(film: Film, at: int) -> dict[str, Any]:
    failures = [
        {"cursor": cursor, "time": film.timeline.time(cursor)} for cursor in film.failures.at(at)
    ]
    return film.timeline.at(at) | ({"failures": failures} if failures else {})


def _state_at(film: Film, at: int) -> dict[str, Any]:
    ends = [s.until for s in film.timeline.spans(at) if s.until is not None and s.until < at]
    previous = max(ends, default=1)
    return {
        "snapshot": film.state.at(at),
        "sinceStart": film.state.difference(1, at),
        "sincePreviousNode": film.state.difference(previous, at),
        "previousNode": previous,
        "writers": film.state.writers(at),
    }


_PANELS: dict[str, Callable[[Film, int], Any]] = {
    "timeline": _timeline_at,
    "state": _state_at,
    "graph": lambda film, at: graph_at(film.timeline, film.state, film.conversation, at),
    "conversation": lambda film, at: film.conversation.at(at),
    "proof": lambda film, at: film.proof.at(at),
    "grounding": lambda film, at: film.grounding.at(at),
    "artifacts": lambda film, at: film.artifacts.at(at),
    "nodes": lambda film, at: node_runs_at(film.timeline, film.state, film.conversation, at),
}

# ---------------------------------------------------------------------------
# The film as one document: what a page needs to show a run at any cursor, with no Python at hand.
#
# Decides the written form of a film, which shared files keep: its `version` goes up when an old
# reader would show something wrong. A document `after` a cursor is the growth of one that ends there.
# The selector that reads it is `web/src/film`; golden files hold it equal to `Film.at`.

VERSION = 1


class Ended(Struct, frozen=True):
    """How the run ended."""

    cursor: int
    outcome: str
    code: str
    completion: int | None
    """Cursor of the entry with which the answer was complete."""


class Document(Struct, frozen=True, kw_only=True):
    """A film, or its growth."""

    version: int
    after: int
    """Cursor of the last entry that is not in it; 0: it is whole."""
    last: int
    run: str
    app: str
    user: str
    session: str
    captured: bool
    """Made from bare events: everything else was inferred."""
    uploaded: bool
    agents: list[Agent]
    start: float | None
    """When the run began, in seconds since 1970."""
    ended: Ended | None
    times: Sequence[int]
    """Of each entry, in microseconds since the start."""
    items: dict[str, list[state_panel.Item]]
    """By kind: nodes, waits, keys, said, proofs, sources, classes, receipts, faults; calls of models and
    artifacts, where there are any."""


def document(film: Film, after: int = 0) -> Document:
    """Write a film down, or what was added after a cursor. Raise `BadPosition` for one past its end."""
    started = film.started
    if started is None or not 0 <= after <= film.last:
        raise BadPosition(f"Cursor {after} is not in this run, which has entries 1 to {film.last}.")
    return Document(
        version=VERSION,
        after=after,
        last=film.last,
        run=started.run,
        app=started.origin.app,
        user=started.origin.user,
        session=started.origin.session,
        captured=DERIVED.read(started),
        uploaded=UPLOADED.read(started),
        agents=started.agents,
        start=film.timeline.start,
        ended=_ended(film),
        times=film.timeline.times[after:].tolist(),
        items=_items(film, after),
    )


def encode(film: Film, after: int = 0) -> bytes:
    """Return the document as JSON."""
    return msgspec.json.encode(document(film, after))


def _items(film: Film, after: int) -> dict[str, list[state_panel.Item]]:
    items: dict[str, list[state_panel.Item]] = {}
    panels = (film.timeline, film.state, film.conversation, film.proof, film.grounding)
    for panel in (*panels, film.artifacts):
        items |= panel.items(after)
    return items | faults(film.state, after)


def _ended(film: Film) -> Ended | None:
    if film.ended is None:
        return None
    cursor, record = film.ended
    return Ended(cursor, record.outcome, record.code, film.proof.completion)


_RECEIPTS = key("search_history")
"""Each of its receipts has a reason of its own."""


def faults(state: state_panel.StateFilm, after: int = 0) -> dict[str, list[state_panel.Item]]:
    """Return the keys of the research plan that were not valid, with the reasons; empty: valid again.

    Readers of the document have the values, but not the expected types.
    """
    return {"faults": list(state_panel.written(_faulty(state), after))}


def _faulty(state: state_panel.StateFilm) -> Iterator[state_panel.Tracked]:
    # In the order of first faults, so that later ones are appended.
    found = [
        state_panel.Tracked({"key": name}, found)
        for name, history in state.histories()
        if name.startswith(PREFIX) and name != _RECEIPTS and (found := _reasons(name, history))
    ]
    yield from sorted(found, key=lambda fault: fault.since)


def _reasons(
    name: str, history: state_panel.History[state_panel.Write]
) -> state_panel.History[str] | None:
    """Return the changes of a key's reason; None if it was always readable."""
    found, last = state_panel.History[str](), ""
    for cursor, write in history.changes():
        reason = _why(name, write)
        if reason != last:
            found.set(cursor, reason)
            last = reason
    return found if found.cursors else None


def _why(name: str, write: state_panel.Write) -> str:
    if write.value is None:
        return ""
    return "".join(each.why for each in read({name: read_value(write.value)}).unreadable)
