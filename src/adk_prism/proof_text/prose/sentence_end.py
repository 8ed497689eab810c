"""Where a sentence ends: at its sign, unless that ends an abbreviation (`Abs. 2`, `Dr. Who`, `e.g. this`)."""

from __future__ import annotations

_ALWAYS = (
    "Dr",
    "Mr",
    "Mrs",
    "Ms",
    "Prof",
    "approx",
    "ca",
    "cf",
    "vs",
    "e.g",
    "i.e",
    "Civ",
    "Proc",
    "lit",
)
"""Abbreviations that no sentence ends with."""
_BEFORE_NUMBER = (
    "Abs",
    "Nr",
    "No",
    "Nos",
    "Art",
    "Sec",
    "Fig",
    "Tab",
    "Vol",
    "Ch",
    "pp",
    "p",
    "al",
    "Stat",
)
"""Words that are abbreviations where a number follows: `No. 5`, but `The answer is No. We go.`"""


def _behind(words: tuple[str, ...]) -> str:
    return "".join(rf"(?<!\b{word.replace('.', chr(92) + '.')})" for word in words)


NOT_ABBREVIATED = rf"{_behind(_ALWAYS)}(?:{_behind(_BEFORE_NUMBER)}|(?!\.\s*[\d§(]))"
"""Stands before the sign that may end a sentence."""
