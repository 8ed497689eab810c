"""Renders rows and transcript items as rich text; the only module that knows how a style looks."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from adk_prism.console.markdown import Prose
from adk_prism.console.panels.conversation import rows
from adk_prism.console.rows import Row, Style
from adk_prism.console.transcript import Item, TextItem

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
    """Return rows as text, one line each."""
    return Text("\n").join(Text(row.text, _STYLES[row.style]) for row in rows)


def render_item(item: Item) -> RenderableType:
    """Return a transcript item: agent text as Markdown, everything else as rows."""
    found = list(rows(item))
    if not isinstance(item, TextItem) or item.kind != "text" or not item.text.strip():
        return text_of(found)
    *title, said = found
    return Group(text_of(title), Prose(said.text)) if title else Prose(said.text)
