"""Markdown of an answer as a terminal shows it: headings, lists, tables, code; and nothing that acts.

Raw HTML is text. A link is shown with its address, and is no link of the terminal's own, which would hide
where it leads. Only what has been cleaned of control characters may come here.
"""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement

# An image is a link to one: a terminal shows none, and nothing is fetched.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("image")
)


class _Heading(Heading):
    """On the left, where one reads on."""

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
