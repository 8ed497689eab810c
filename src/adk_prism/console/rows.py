"""Rows: lines of text with a style.

The text alone must be enough: a style only repeats what a mark or a word says. No control character from a
model or a tool reaches the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from adk_prism.console import words

Style = Literal["", "title", "dim", "strong", "changed", "good", "ask", "error", "user"]

SHORT = 200
"""Most characters of a value in a row."""


class Row(NamedTuple):
    """One line."""

    text: str
    style: Style = ""


def clean(text: str) -> str:
    """Return text without control characters."""
    if text.isprintable():
        return text
    kept = (c if c.isprintable() or c == "\n" else " " if c == "\t" else "\ufffd" for c in text)
    return "".join(kept)


def one_line(text: str, most: int = SHORT) -> str:
    """Return text on one line, shortened to a length."""
    joined = " ".join(clean(text).split())
    return joined if len(joined) <= most else f"{joined[: most - 1]}…"


def short_json(value: Any, most: int = SHORT) -> str:
    """Return a JSON value on one line, shortened to a length."""
    return one_line(msgspec.json.encode(value).decode(), most)


def wrapped(text: str, width: int, style: Style = "", hang: int = 2) -> Iterator[Row]:
    """Yield text wrapped to a width, indented as the text is, later rows by `hang`."""
    margin = " " * (len(text) - len(text.lstrip(" ")))
    lines = textwrap.wrap(
        one_line(text, SHORT * 10),
        max(width, 20),
        initial_indent=margin,
        subsequent_indent=" " * hang,
    )
    for line in lines:
        yield Row(line, style)


def counted(number: int, noun: str) -> str:
    """Return `1 paper`, `2 papers`, `2 searches`."""
    plural = "es" if noun.endswith("h") else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"


def seconds(value: float) -> str:
    """Return a duration with its unit."""
    return words.MILLISECONDS.format(number=value * 1000) if value < 1 else f"{value:.1f} s"
