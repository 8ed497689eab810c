"""A session as the panel knows it: the talk so far, the film of its last run, and what waits for an answer.

Pure: entries go in, and a screen or a pipe looks at it. What is pending is folded as the server folds it;
a change of state between two messages leaves it, another message expires it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adk_prism.console.talk import Talk
from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.reader import Reader
from adk_prism.runlog.entry import Entry, Origin, RunEnded, RunStarted, to_raw
from adk_prism.view.film import Film, fold


class Dialogue:
    """One session."""

    def __init__(self) -> None:
        self.talk = Talk()
        self.film: Film | None = None
        """Of the last run; before there is one, of nothing but the session's state."""
        self.pending = Pending()
        self._seen: Film | None = None
        self._seen_at = 0
        self._views: dict[str, Any] = {}
        """Panels of that film at that cursor: a screen asks for the same one several times."""
        self._reader = Reader()
        self._head: RunStarted | None = None

    def remember(self, origin: Origin, state: Mapping[str, Any]) -> None:
        """Take the state of a session that no run has told of."""
        if self.film is None:
            values = {key: to_raw(value) for key, value in state.items()}
            head = RunStarted(run="", origin=origin, state=values, derived=True)
            self.film = fold([Entry(1, 0.0, head)])

    def feed(self, entry: Entry) -> None:
        """Take the next entry of a run; a first one begins another run."""
        record = entry.record
        if isinstance(record, RunStarted):
            self._begin(record)
        assert self.film is not None, "a run begins with its first entry"
        self.film.feed(entry)
        facts = self._reader.feed(entry)
        self.talk.feed(facts)
        self.pending.feed(facts)
        if isinstance(record, RunEnded):
            self._end()

    def settle(self, end: Entry, film: Film | None) -> None:
        """Take a run's end, and the film of its recording in place of what was seen live."""
        self.feed(end)
        self.film = film or self.film

    def replay(self, entries: Sequence[Entry]) -> None:
        """Take a run that is over, or as much of it as there is."""
        for entry in entries:
            self.feed(entry)

    def _begin(self, head: RunStarted) -> None:
        self._head, self._reader, self.film = head, Reader(), Film()
        if head.kind != "state" and head.continues is None:
            self.pending = Pending()
        self.talk.open(head)

    def _end(self) -> None:
        continues = self._head.continues if self._head is not None else None
        if continues is not None:
            decisions = list(continues.decisions.values())
            take = self.pending.hold if continues.held else self.pending.pass_on
            take(decisions, continues.answers)

    # -------------------------------------------------------------- questions about it

    def panel(self, name: str) -> Any:
        """Return what a panel shows now; None before there is anything."""
        if self.film is None or not self.film.last:
            return None
        if self._seen is not self.film or self._seen_at != self.film.last:
            self._seen, self._seen_at, self._views = self.film, self.film.last, {}
        if name not in self._views:
            self._views[name] = self.film.at(panel=name)[name]
        return self._views[name]

    def state(self) -> dict[str, Any]:
        """Return the session's state, all scopes together."""
        if self.film is None:
            return {}
        raw = self.film.state.raw_at(self.film.last)
        return {key: msgspec.json.decode(bytes(value)) for key, value in raw.items()}
