"""Words that look misspelt: in no title of the library, and close to a word that is."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from ..databases.syntax import words_of

_SHORTEST = 5
"""Letters. Shorter words are close to too many others."""
_CLOSE = 0.85
"""Of `difflib`: one letter missing, doubled, swapped or wrong in a word of eight."""


def spelling(text: str, known: Mapping[str, int]) -> str:
    """Return a query with its misspelt words corrected; empty if none looks misspelt."""
    corrected = text
    for word in words_of(text):
        if word in known or len(word) < _SHORTEST or not word.isalpha():
            continue
        near = get_close_matches(word, known, n=1, cutoff=_CLOSE)
        # A plural or another form of a word is not a mistake.
        if near and not _same_stem(word, near[0]):
            corrected = _replaced(corrected, word, near[0])
    return corrected if corrected != text else ""


def _same_stem(word: str, other: str) -> bool:
    endings = ("s", "es", "ed", "ing", "al", "ly", "ion")
    bare = {word, *(word.removesuffix(each) for each in endings)}
    return not bare.isdisjoint({other, *(other.removesuffix(each) for each in endings)})


def _replaced(text: str, word: str, by: str) -> str:
    at = text.lower().find(word)
    return text if at < 0 else text[:at] + by + text[at + len(word) :]
