"""The panels by name: their data and how to render it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adk_prism.console import words
from adk_prism.console.commands import COMMANDS, KEY_NAMES
from adk_prism.console.panels import compact_grounding, grounding, proof, state, timeline
from adk_prism.console.rows import Row
from adk_prism.console.session_history import SessionHistory

Rows = Callable[[Any, int], list[Row]]
_VIEWS: Mapping[str, tuple[str, Rows]] = {
    "grounding": ("grounding", grounding.rows),
    "history": ("grounding", grounding.history_rows),
    "timeline": ("timeline", timeline.rows),
    "state": ("state", state.rows),
    "proof": ("proof", proof.rows),
}
"""Panel data and renderer, by panel name."""
_OVERVIEW: Mapping[str, tuple[int, str]] = {
    "timeline": (12, words.ALL_T),
    "proof": (12, words.ALL_P),
    "state": (100, words.ALL_V),
}
"""Rows of each panel in the overview, and the key that shows all of them."""


def rows_of(history: SessionHistory, name: str, width: int, *, compact: bool = False) -> list[Row]:
    """Return the rows of a panel with a title."""
    if name == "help":
        return [Row(words.HELP_PANEL, "title"), *help_rows(width)]
    if name == "overview":
        return [row for part in _OVERVIEW for row in _part(history, part, width)]
    source, rows = _VIEWS[name]
    view = history.panel(source)
    if compact and name == "grounding":
        return compact_grounding.rows(view, width)
    return [Row(name.upper(), "title"), *rows(view, width)]


def _part(history: SessionHistory, name: str, width: int) -> list[Row]:
    most, key = _OVERVIEW[name]
    rows = rows_of(history, name, width)
    more = (
        [Row(words.MORE_ROWS.format(count=len(rows) - most, key=key), "dim")]
        if len(rows) > most
        else []
    )
    return [*rows[:most], *more, Row("")]


_GROUPS = {
    "plan": words.HELP_GROUP_PLAN,
    "answer": words.HELP_GROUP_CALL,
    "box": words.HELP_GROUP_BOX,
    "panel": words.HELP_GROUP_PANELS,
    "run": words.HELP_GROUP_RUN,
}


def help_rows(width: int) -> list[Row]:
    """Return every command with its key."""
    shown = [
        Row(words.HELP_TYPING),
        Row(words.HELP_COMMANDS),
    ]
    for group, title in _GROUPS.items():
        shown.append(Row(title, "title"))
        for command in COMMANDS:
            if command.group == group:
                key = KEY_NAMES.get(command.key, command.key) or "1-9"
                name = f"/{command.name} {command.takes}".rstrip()
                shown.append(Row(f"  {key:<4}{name:<20}{command.help}"[:width]))
    return shown
