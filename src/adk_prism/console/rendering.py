"""Renders rows and transcript items as rich text; the only module that knows how a style looks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text

from adk_prism.console.panels.conversation import rows
from adk_prism.console.rows import Row, Style
from adk_prism.console.transcript import Item, TextItem

# An image is a link to one: a terminal shows none, and nothing is fetched.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("image")
)


class _Heading(Heading):
    """A heading aligned to the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class Prose(Markdown):
    """A piece of an answer."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        self.markup = text
        self.parsed = _PARSER.parse(text)


_STYLES: dict[Style, str] = {
    "": "",
    "title": "bold",
    "dim": "dim",
    "strong": "bold",
    "changed": "yellow",
    "good": "green",
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
