"""Reads the sources that sentences name, over the lines of a text.

Keeps what one line leaves for a later one: the numbers by which sentences refer to notes (`[1]`), so that
a line that begins with such a number is a source, and a bracket that is closed on the next line.
"""

from __future__ import annotations

import re

from adk_prism.proof_text.prose import inline_citation
from adk_prism.proof_text.prose.citation_text import read_citations
from adk_prism.proof_text.prose.findings import TextPieces
from adk_prism.proof_text.prose.markdown_line import read_line

_MARK = re.compile(r"\S\s?\[(\d{1,3})\]")
_NOTE = re.compile(r"^[ \t>]{0,8}\[(?P<number>\d{1,3})\]:?[ \t]+(?=\S)", re.M)
"""A numbered note: a source, if a sentence before it refers to its number."""
_WORD_BEFORE = 40
"""Characters before a bracket in which the word before it is searched."""
_LONGEST_BRACKET = 300
"""The most characters in a bracket; a longer one is a paragraph and names no author."""


def may_cite(text: str) -> bool:
    """Return whether, by a cheap check, a text can name a source that no label announces."""
    if inline_citation.may_cite(text):
        return True
    return "[" in text and _NOTE.search(text) is not None


class InlineReader:
    """Reads the lines of one text."""

    def __init__(self, pieces: TextPieces) -> None:
        self._pieces = pieces
        self._marks: set[str] = set()
        self._bracket = ""
        """What the line before has of a bracket that it does not close."""

    def blank(self) -> None:
        """End a paragraph."""
        self._bracket = ""

    def read(self, raw: str, section: str) -> bool:
        """Read the sources of a line; return whether it is a note of its own."""
        if not (self._bracket or "[" in raw or "(" in raw or inline_citation.may_cite(raw)):
            return False
        note = _NOTE.match(raw) if "[" in raw else None
        text = read_line(raw).text
        if note is not None and note["number"] in self._marks:
            for citation in read_citations(text, f"[{note['number']}]", one=True):
                self._pieces.cite(citation, section)
            return True
        self._marks.update(_MARK.findall(raw) if "[" in raw else ())
        text = f"{self._bracket} {text}" if self._bracket else text
        for found in inline_citation.read_inline(text):
            self._pieces.cite_inline(found, section)
        self._bracket = _unclosed(text)
        return False


def _unclosed(text: str) -> str:
    opens = text.rfind("(")
    if opens <= text.rfind(")") or len(text) - opens > _LONGEST_BRACKET:
        return ""
    return text[max(0, opens - _WORD_BEFORE) :]
