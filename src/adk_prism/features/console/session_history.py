"""What the console knows of a session: its transcript, the film of its last run, and the pending questions.

Pure: entries go in; the screen and the pipe read from it. Pending questions are computed as the server
does it: a state change between two messages keeps them, another message expires them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adk_prism.cli.terminal import Row
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.features.console.commands import COMMANDS, KEY_NAMES
from adk_prism.features.console.transcript import Transcript
from adk_prism.features.grounding import text as grounding
from adk_prism.features.page import text as timeline
from adk_prism.features.page.film import Film, fold
from adk_prism.features.page.text import state_rows
from adk_prism.features.proof import text as proof
from adk_prism.log.entry import DERIVED, Entry, Origin, RunEnded, RunStarted, labels, to_raw


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
            head = RunStarted(run="", origin=origin, state=values, labels=labels(DERIVED(True)))
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


# ---------------------------------------------------------------------- panels
#
# The panels by name: their data and how to render it.

Rows = Callable[[Any, int], list[Row]]
_VIEWS: Mapping[str, tuple[str, Rows]] = {
    "grounding": ("grounding", grounding.rows),
    "history": ("grounding", grounding.history_rows),
    "timeline": ("timeline", timeline.rows),
    "state": ("state", state_rows),
    "proof": ("proof", proof.rows),
}
"""Panel data and renderer, by panel name."""
_OVERVIEW: Mapping[str, tuple[int, str]] = {
    "timeline": (12, "[t] all"),
    "proof": (12, "[p] all"),
    "state": (100, "[v] all"),
}
"""Rows of each panel in the overview, and the key that shows all of them."""


def rows_of(history: SessionHistory, name: str, width: int, *, compact: bool = False) -> list[Row]:
    """Return the rows of a panel with a title."""
    if name == "help":
        return [Row("HELP", "title"), *help_rows(width)]
    if name == "overview":
        return [row for part in _OVERVIEW for row in _part(history, part, width)]
    source, rows = _VIEWS[name]
    view = history.panel(source)
    if compact and name == "grounding":
        return grounding.compact_rows(view, width)
    return [Row(name.upper(), "title"), *rows(view, width)]


def _part(history: SessionHistory, name: str, width: int) -> list[Row]:
    most, key = _OVERVIEW[name]
    rows = rows_of(history, name, width)
    more = [Row(f"  {len(rows) - most} more rows: {key}", "dim")] if len(rows) > most else []
    return [*rows[:most], *more, Row("")]


_GROUPS = {
    "plan": "Pending search plan or search help",
    "answer": "Pending tool call",
    "box": "Research plan (changes reach the model with your next message)",
    "panel": "Panels",
    "run": "Run",
}


def help_rows(width: int) -> list[Row]:
    """Return every command with its key."""
    shown = [
        Row(
            "Type a message and press Enter. Command keys work outside the input line: press Tab to"
            " leave it,"
        ),
        Row(
            "Enter or / to return. A line that starts with / is a command; // sends a leading slash."
        ),
    ]
    for group, title in _GROUPS.items():
        shown.append(Row(title, "title"))
        for command in COMMANDS:
            if command.group == group:
                key = KEY_NAMES.get(command.key, command.key) or "1-9"
                name = f"/{command.name} {command.takes}".rstrip()
                shown.append(Row(f"  {key:<4}{name:<20}{command.help}"[:width]))
    return shown
