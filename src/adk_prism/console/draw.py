"""Rows as rich text: the one place that knows what a style looks like."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from adk_prism.console.rows import Row, Style

_STYLES: dict[Style, str] = {
    "": "",
    "title": "bold",
    "dim": "dim",
    "strong": "bold",
    "changed": "yellow",
    "ask": "bold magenta",
    "error": "red",
    "user": "bold cyan",
}


def text_of(rows: Iterable[Row]) -> Text:
    """Return rows as one text, a line each."""
    return Text("\n").join(Text(row.text, _STYLES[row.style]) for row in rows)
