"""What the console knows of a session: its transcript, the film of its last run, and the pending questions.

Pure: entries go in; the screen and the pipe read from it. Pending questions are computed as the server
does it: a state change between two messages keeps them, another message expires them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_prism.console.transcript import Transcript
from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.runlog.entry import Entry, Origin, RunEnded, RunStarted, to_raw
from adk_prism.view.film import Film, fold


class SessionHistory:
    """One session."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.film: Film | None = None
        """The film of the last run; before the first run it holds only the session's state."""
        self.pending = Pending()
        self._seen: Film | None = None
        self._seen_at = 0
        self._views: dict[str, Any] = {}
        """Cached panels of that film at that cursor."""
        self._reader = Reader()
        self._head: RunStarted | None = None

    def remember(self, origin: Origin, state: Mapping[str, Any]) -> None:
        """Use a session's state if no run has been seen."""
        if self.film is None:
            values = {key: to_raw(value) for key, value in state.items()}
            head = RunStarted(run="", origin=origin, state=values, derived=True)
            self.film = fold([Entry(1, 0.0, head)])

    def feed(self, entry: Entry) -> None:
        """Add the next entry; a `RunStarted` entry starts a new run."""
        record = entry.record
        if isinstance(record, RunStarted):
            self._begin(record)
        assert self.film is not None, "a run starts with RunStarted"
        self.film.feed(entry)
        facts = self._reader.feed(entry)
        self.transcript.feed(facts)
        self.pending.feed(facts)
        if isinstance(record, RunEnded):
            self._end()

    def settle(self, end: Entry, film: Film | None) -> None:
        """Add the end of a run, and replace its live film with the one of the recording."""
        self.feed(end)
        self.film = film or self.film

    def replay(self, entries: Sequence[Entry]) -> None:
        """Add the entries of an earlier run."""
        for entry in entries:
            self.feed(entry)

    def _begin(self, head: RunStarted) -> None:
        self._head, self._reader, self.film = head, Reader(), Film()
        if head.kind != "state" and head.continues is None:
            self.pending = Pending()
        self.transcript.open(head)

    def _end(self) -> None:
        continues = self._head.continues if self._head is not None else None
        if continues is not None:
            decisions = list(continues.decisions.values())
            take = self.pending.hold if continues.held else self.pending.pass_on
            take(decisions, continues.answers)

    # -------------------------------------------------------------- queries

    def panel(self, name: str) -> Any:
        """Return the data of a panel, or None before the first entry."""
        if self.film is None or not self.film.last:
            return None
        if self._seen is not self.film or self._seen_at != self.film.last:
            self._seen, self._seen_at, self._views = self.film, self.film.last, {}
        if name not in self._views:
            self._views[name] = self.film.at(panel=name)[name]
        return self._views[name]
