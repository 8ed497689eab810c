"""Escapes text for one line of output."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return a text that cannot end its line or control a terminal: other characters are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
