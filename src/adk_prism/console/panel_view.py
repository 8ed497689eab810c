"""The panel beside the conversation: one of the views of the last run, or an overview of them."""

from __future__ import annotations

from typing import Any

from textual.containers import VerticalScroll
from textual.widgets import Static

from adk_prism.console.dialogue import Dialogue
from adk_prism.console.draw import text_of
from adk_prism.console.panels.registry import rows_of

WIDE = 120
"""Columns from which conversation and panel stand side by side."""
EDGE = 4
"""Columns that the border, the padding and the scroll bar take."""
SHARE = 0.44
"""Of the width, beside the conversation; as the style sheet has it."""


class PanelView(VerticalScroll):
    """Shows the panel that was chosen; without a choice, what suits the app and the room."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__(id="panel")
        self._dialogue = dialogue
        self._rows = Static(markup=False)
        self.chosen = ""

    def compose(self) -> Any:
        """Hold one text."""
        yield self._rows

    def choose(self, name: str) -> None:
        """Show a panel; asked for again, go back to what suits."""
        self.chosen = "" if self.chosen == name else name
        self.draw()
        self.scroll_home(animate=False)

    def draw(self) -> None:
        """Bring the text up to the dialogue."""
        wide = self.app.size.width >= WIDE
        view = self._dialogue.panel("grounding")
        grounded = bool(view and view["present"])
        name = self.chosen or ("grounding" if grounded else "overview" if wide else "")
        self.set_class(not name, "-hidden")
        if name:
            room = self.app.size.width * (SHARE if wide else 1)
            width = max(int(room) - EDGE, 20)
            compact = not wide and not self.chosen
            self._rows.update(text_of(rows_of(self._dialogue, name, width, compact=compact)))
