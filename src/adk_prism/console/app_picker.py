"""Lets the user choose an app when a server has several and none was named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static

from adk_prism.console import words
from adk_prism.console.client import shown_url


class AppPicker(App[str]):
    """A list of apps. Returns the chosen one, or nothing if the user quits."""

    CSS = """
    #title { padding: 1 2 0 2; text-style: bold; }
    #apps { height: auto; max-height: 1fr; margin: 1; border: none; }
    #keys { dock: bottom; padding: 0 2; color: $text-muted; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c", "leave", words.QUIT, priority=True, show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def __init__(self, url: str, apps: Sequence[str]) -> None:
        super().__init__()
        self._url = url
        self._apps = apps

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(words.CHOOSE_APP.format(server=shown_url(self._url)), id="title", markup=False)
        yield OptionList(*self._apps, id="apps", markup=False)
        yield Static(words.PICKER_KEYS, id="keys", markup=False)

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
