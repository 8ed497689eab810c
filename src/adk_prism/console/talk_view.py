"""The conversation on the screen: a widget for each item, made, changed and taken away as the talk does."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.widgets import Static

from adk_prism.console.draw import drawn
from adk_prism.console.talk import Item, Talk, Words


class TalkView(VerticalScroll):
    """Shows a talk; it stays at the newest line until somebody scrolls up."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(id="talk")
        self._talk = talk
        self._shown: list[tuple[Item, Static]] = []
        self._versions: dict[int, int] = {}
        """Of the items shown, by identity."""
        self._put = 0.0
        """How far down this has scrolled by itself."""

    def draw(self) -> None:
        """Bring the widgets up to the talk."""
        gone = self._gone()
        for item, widget in self._shown[:gone]:
            self._versions.pop(id(item), None)
            widget.remove()
        del self._shown[:gone]
        for item, widget in self._shown:
            if self._versions[id(item)] != item.version:
                self._versions[id(item)] = item.version
                widget.update(drawn(item))
                widget.set_class(_is_joined(item), "-goes-on")
                widget.display = not _is_replaced(item)
        self._add(self._talk.items[len(self._shown) :])

    def keep_up(self) -> None:
        """Go to the newest line, unless somebody has scrolled up from where this put them."""
        if self._put <= self.scroll_y < self.max_scroll_y:
            self.scroll_end(animate=False, immediate=True)
        if self.scroll_y >= self.max_scroll_y:
            self._put = self.scroll_y

    def _gone(self) -> int:
        """Return how many of the first items are no longer in the talk."""
        first = self._talk.items[0] if self._talk.items else None
        return next(
            (index for index, (item, _) in enumerate(self._shown) if item is first),
            len(self._shown),
        )

    def _add(self, items: list[Item]) -> None:
        fresh = [(item, _widget(item)) for item in items]
        self._versions.update((id(item), item.version) for item, _ in fresh)
        self._shown += fresh
        if fresh:
            self.mount_all([widget for _, widget in fresh])


def _widget(item: Item) -> Static:
    widget = Static(drawn(item), markup=False, classes="-goes-on" if _is_joined(item) else "")
    widget.display = not _is_replaced(item)
    return widget


def _is_replaced(item: Item) -> bool:
    return isinstance(item, Words) and item.replaced


def _is_joined(item: Item) -> bool:
    """Tell whether the next piece of a text belongs to the same block of it."""
    return isinstance(item, Words) and item.goes_on and not item.text.endswith("\n\n")
