"""The transcript on the screen: one widget per item, kept in step with the transcript."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.widgets import Static

from adk_prism.console.rendering import render_item
from adk_prism.console.transcript import Item, TextItem, Transcript


class TranscriptView(VerticalScroll):
    """Shows a transcript and follows its end until the user scrolls up."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(id="transcript")
        self._transcript = transcript
        self._shown: list[tuple[Item, Static]] = []
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

    def _add(self, items: list[Item]) -> None:
        fresh = [(item, _widget(item)) for item in items]
        self._versions.update((id(item), item.version) for item, _ in fresh)
        self._shown += fresh
        if fresh:
            self.mount_all([widget for _, widget in fresh])


def _widget(item: Item) -> Static:
    widget = Static(render_item(item), markup=False, classes="-goes-on" if _is_joined(item) else "")
    widget.display = not _is_replaced(item)
    return widget


def _is_replaced(item: Item) -> bool:
    return isinstance(item, TextItem) and item.replaced


def _is_joined(item: Item) -> bool:
    """Return whether the next item continues the same block of text."""
    return isinstance(item, TextItem) and item.goes_on and not item.text.endswith("\n\n")
