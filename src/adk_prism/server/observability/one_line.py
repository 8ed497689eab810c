"""Text of others in a line of our own."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return a text that cannot end its line, nor command a terminal: what does not print is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
