"""A panel by its name: which view of the film it shows, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adk_prism.console.dialogue import Dialogue
from adk_prism.console.panels import grounding, help, proof, small_box, state, timeline
from adk_prism.console.rows import Row

Rows = Callable[[Any, int], list[Row]]
_VIEWS: Mapping[str, tuple[str, Rows]] = {
    "grounding": ("grounding", grounding.rows),
    "history": ("grounding", grounding.history_rows),
    "timeline": ("timeline", timeline.rows),
    "state": ("state", state.rows),
    "proof": ("proof", proof.rows),
}
"""Which panel of the film each shows, and how."""
_OVERVIEW: Mapping[str, tuple[int, str]] = {
    "timeline": (12, "[t] all of it"),
    "proof": (12, "[p] all of it"),
    "state": (100, "[v] all of it"),
}
"""How many rows of each an overview has, and how to see the others."""


def rows_of(dialogue: Dialogue, name: str, width: int, *, compact: bool = False) -> list[Row]:
    """Return what a panel shows, under its name."""
    if name == "help":
        return [Row("HELP", "title"), *help.rows(width)]
    if name == "overview":
        return [row for part in _OVERVIEW for row in _part(dialogue, part, width)]
    source, rows = _VIEWS[name]
    view = dialogue.panel(source)
    if compact and name == "grounding":
        return small_box.rows(view, width)
    return [Row(name.upper(), "title"), *rows(view, width)]


def _part(dialogue: Dialogue, name: str, width: int) -> list[Row]:
    most, key = _OVERVIEW[name]
    rows = rows_of(dialogue, name, width)
    more = [Row(f"  {len(rows) - most} more rows: {key}", "dim")] if len(rows) > most else []
    return [*rows[:most], *more, Row("")]
