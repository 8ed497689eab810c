"""Renders transcript items as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from adk_prism.console import words
from adk_prism.console.rows import Row, Style, clean, one_line
from adk_prism.console.transcript import CallItem, CallState, Item, NoteItem, NoteKind, TextItem

_CALLS: dict[CallState, tuple[str, Style]] = {
    "running": (words.CALL_RUNS, "dim"),
    "answered": ("← ", "dim"),
    "failed": (words.CALL_FAILED, "error"),
    "denied": (words.CALL_DENIED, "error"),
    "abandoned": (words.CALL_STOPPED, "error"),
    "asked": (words.CALL_ASKS, "ask"),
}
_NOTES: dict[NoteKind, tuple[str, Style]] = {
    "user": (words.YOU, "user"),
    "note": ("· ", "dim"),
    "ask": ("? ", "ask"),
    "error": ("! ", "error"),
}
_UNFINISHED = "▌"


def rows(item: Item) -> Iterator[Row]:
    """Yield an item's rows; a terminal wraps them."""
    match item:
        case TextItem():
            yield from _words(item)
        case CallItem():
            yield from _call(item)
        case NoteItem():
            mark, style = _NOTES[item.kind]
            yield Row(mark + clean(item.text), style)
        case _:
            assert_never(item)


def _words(item: TextItem) -> Iterator[Row]:
    if item.replaced:
        return
    thinks = item.kind == "reasoning"
    if not item.follows:
        yield Row(f"{one_line(item.speaker)}{words.THINKING if thinks else ''}:", "title")
    said = item.text.removesuffix("\n") if item.goes_on else item.text.rstrip()
    # After punctuation the mark could be read as Markdown.
    grows = not item.done and (thinks or said[-1:].isalnum() or not said)
    text = clean(said) + (_UNFINISHED if grows else "")
    if text:
        yield Row(text, "dim" if thinks else "")


def _call(item: CallItem) -> Iterator[Row]:
    yield Row(f"→ {one_line(item.name)} {item.input}".rstrip(), "dim")
    mark, style = _CALLS[item.state]
    result = one_line(item.result)
    yield Row(f"  {mark}{result}" if result else f"  {mark.rstrip(': ')}", style)
