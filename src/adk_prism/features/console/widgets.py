"""What the screen is made of: rows and transcript items as rich text, and the widgets that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static

from adk_prism.cli.terminal import Row, Style
from adk_prism.features.captures.client import shown_url
from adk_prism.features.console import history as histories

# ---------------------------------------------------------------------- rich text
#
# Renders rows and transcript items as rich text; the only module that knows how a style looks.

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


def render_item(item: histories.Item) -> RenderableType:
    """Return a transcript item: agent text as Markdown, everything else as rows."""
    found = list(histories.item_rows(item))
    if not isinstance(item, histories.TextItem) or item.kind != "text" or not item.text.strip():
        return text_of(found)
    *title, said = found
    return Group(text_of(title), Prose(said.text)) if title else Prose(said.text)


# ---------------------------------------------------------------------- transcript
#
# The transcript on the screen: one widget per item, kept in step with the transcript.


class TranscriptView(VerticalScroll):
    """Shows a transcript and follows its end until the user scrolls up."""

    def __init__(self, transcript: histories.Transcript) -> None:
        super().__init__(id="transcript")
        self._transcript = transcript
        self._shown: list[tuple[histories.Item, Static]] = []
        self._versions: dict[int, int] = {}
        """Versions of the shown items, by identity."""
        self._put = 0.0
        """How far this widget has scrolled on its own."""

    def draw(self) -> None:
        """Update the widgets to match the transcript."""
        gone = self._gone()
        for item, widget in self._shown[:gone]:
            self._versions.pop(id(item), None)
            widget.remove()
        del self._shown[:gone]
        for item, widget in self._shown:
            if self._versions[id(item)] != item.version:
                self._versions[id(item)] = item.version
                widget.update(render_item(item))
                widget.set_class(_is_joined(item), "-goes-on")
                widget.display = not _is_replaced(item)
        self._add(self._transcript.items[len(self._shown) :])

    def keep_up(self) -> None:
        """Scroll to the newest line, unless the user has scrolled up."""
        if self._put <= self.scroll_y < self.max_scroll_y:
            self.scroll_end(animate=False, immediate=True)
        if self.scroll_y >= self.max_scroll_y:
            self._put = self.scroll_y

    def _gone(self) -> int:
        """Return how many of the first shown items are no longer in the transcript."""
        first = self._transcript.items[0] if self._transcript.items else None
        return next(
            (index for index, (item, _) in enumerate(self._shown) if item is first),
            len(self._shown),
        )

    def _add(self, items: list[histories.Item]) -> None:
        fresh = [(item, _widget(item)) for item in items]
        self._versions.update((id(item), item.version) for item, _ in fresh)
        self._shown += fresh
        if fresh:
            self.mount_all([widget for _, widget in fresh])


def _widget(item: histories.Item) -> Static:
    widget = Static(render_item(item), markup=False, classes="-goes-on" if _is_joined(item) else "")
    widget.display = not _is_replaced(item)
    return widget


def _is_replaced(item: histories.Item) -> bool:
    return isinstance(item, histories.TextItem) and item.replaced


def _is_joined(item: histories.Item) -> bool:
    """Return whether the next item continues the same block of text."""
    return isinstance(item, histories.TextItem) and item.goes_on and not item.text.endswith("\n\n")


# ---------------------------------------------------------------------- panel
#
# The panel beside the conversation: one of the views of the last run, or an overview of them.

WIDE = 120
"""Least columns to show conversation and panel side by side."""
EDGE = 4
"""Columns used by border, padding and scroll bar."""
SHARE = 0.44
"""Share of the width next to the conversation; must match the style sheet."""


class PanelView(VerticalScroll):
    """Shows the chosen panel, or a default that fits the app and the window."""

    def __init__(self, history: histories.SessionHistory) -> None:
        super().__init__(id="panel")
        self._history = history
        self._rows = Static(markup=False)
        self.chosen = ""

    def compose(self) -> Any:
        """Add the one text widget."""
        yield self._rows

    def choose(self, name: str) -> None:
        """Show a panel; if it is already shown, return to the default."""
        self.chosen = "" if self.chosen == name else name
        self.draw()
        self.scroll_home(animate=False)

    def draw(self) -> None:
        """Update the text."""
        wide = self.app.size.width >= WIDE
        view = self._history.panel("grounding")
        grounded = bool(view and view["present"])
        name = self.chosen or ("grounding" if grounded else "overview" if wide else "")
        self.set_class(not name, "-hidden")
        if name:
            room = self.app.size.width * (SHARE if wide else 1)
            width = max(int(room) - EDGE, 20)
            compact = not wide and not self.chosen
            self._rows.update(
                text_of(histories.rows_of(self._history, name, width, compact=compact))
            )


# ---------------------------------------------------------------------- choice of an app
#
# Lets the user choose an app when a server has several and none was named.


class AppPicker(App[str]):
    """A list of apps. Returns the chosen one, or nothing if the user quits."""

    CSS = """
    #title { padding: 1 2 0 2; text-style: bold; }
    #apps { height: auto; max-height: 1fr; margin: 1; border: none; }
    #keys { dock: bottom; padding: 0 2; color: $text-muted; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c", "leave", "Quit", priority=True, show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def __init__(self, url: str, apps: Sequence[str]) -> None:
        super().__init__()
        self._url = url
        self._apps = apps

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(f"Choose an app on {shown_url(self._url)}", id="title", markup=False)
        yield OptionList(*self._apps, id="apps", markup=False)
        yield Static("↑ ↓: select  Enter: open  q: quit", id="keys", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the app."""
        self.exit(self._apps[event.option_index])

    def action_move(self, step: int) -> None:
        """Move the selection with j and k."""
        apps = self.query_one(OptionList)
        (apps.action_cursor_down if step > 0 else apps.action_cursor_up)()

    def action_leave(self) -> None:
        """Quit without choosing."""
        self.exit("")
