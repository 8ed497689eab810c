"""Markdown that the references are written in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a line break or a bar in a cell does not end it."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(text: str) -> str:
    """Return text that can be in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return text as code, or nothing of nothing."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Return text in which nothing is taken for HTML."""
    return text.replace("<", "&lt;")
