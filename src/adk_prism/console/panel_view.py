"""The panel beside the conversation: one of the views of the last run, or an overview of them."""

from __future__ import annotations

from typing import Any

from textual.containers import VerticalScroll
from textual.widgets import Static

from adk_prism.console.panels.registry import rows_of
from adk_prism.console.rendering import text_of
from adk_prism.console.session_history import SessionHistory

WIDE = 120
"""Least columns to show conversation and panel side by side."""
EDGE = 4
"""Columns used by border, padding and scroll bar."""
SHARE = 0.44
"""Share of the width next to the conversation; must match the style sheet."""


class PanelView(VerticalScroll):
    """Shows the chosen panel, or a default that fits the app and the window."""

    def __init__(self, history: SessionHistory) -> None:
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
            self._rows.update(text_of(rows_of(self._history, name, width, compact=compact)))
