"""How the items of a conversation look: who speaks, what is called, what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from adk_prism.console.rows import Row, Style, clean, one_line
from adk_prism.console.talk import Call, CallState, Item, Note, NoteKind, Words

_CALLS: dict[CallState, tuple[str, Style]] = {
    "running": ("… running", "dim"),
    "answered": ("← ", "dim"),
    "failed": ("✗ failed: ", "error"),
    "denied": ("✗ denied: ", "error"),
    "abandoned": ("✗ given up: nobody answers it any more", "error"),
    "asked": ("? waits for your approval ", "ask"),
}
_NOTES: dict[NoteKind, tuple[str, Style]] = {
    "user": ("you: ", "user"),
    "note": ("· ", "dim"),
    "ask": ("? ", "ask"),
    "error": ("! ", "error"),
}
_UNFINISHED = "▌"


def rows(item: Item) -> Iterator[Row]:
    """Yield an item's rows; a terminal wraps them."""
    match item:
        case Words():
            yield from _words(item)
        case Call():
            yield from _call(item)
        case Note():
            mark, style = _NOTES[item.kind]
            yield Row(mark + clean(item.text), style)
        case _:
            assert_never(item)


def _words(item: Words) -> Iterator[Row]:
    if item.replaced:
        return
    thinks = item.kind == "reasoning"
    if not item.follows:
        yield Row(f"{one_line(item.speaker)}{' (thinking)' if thinks else ''}:", "title")
    said = item.text.removesuffix("\n") if item.goes_on else item.text.rstrip()
    # After a sign it could be taken for a part of the Markdown.
    grows = not item.done and (thinks or said[-1:].isalnum() or not said)
    text = clean(said) + (_UNFINISHED if grows else "")
    if text:
        yield Row(text, "dim" if thinks else "")


def _call(item: Call) -> Iterator[Row]:
    yield Row(f"→ {one_line(item.name)} {item.input}".rstrip(), "dim")
    mark, style = _CALLS[item.state]
    told = one_line(item.result)
    yield Row(f"  {mark}{told}" if told else f"  {mark.rstrip(': ')}", style)
