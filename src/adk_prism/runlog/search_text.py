"""Text as it is searched: words in a folded form, the same in every backend.

Case, width and accents do not matter. In scripts that are written without spaces (Chinese, Japanese, Thai)
every character is a word, so a search finds any sequence of them. The result contains nothing but letters,
digits and spaces, so no query can have a syntax of its own.
"""

from __future__ import annotations

import re
import unicodedata

from adk_prism.errors import UsageError

MOST_TERMS = 16
"""Of one search: more do not make it more precise."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai and Lao, Burmese, Khmer, kana, and the characters of Chinese."""

_WORD = re.compile(rf"(?=\w)[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_TERM = re.compile(r'"([^"]*)"|(\S+)')


def searchable(text: str) -> str:
    """Return the words of a text, each after a space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", bare)
    return "".join(f" {word}" for word in _WORD.findall(folded))


def split_terms(text: str) -> list[str]:
    """Return the terms of a search as they were written: words, and words in quotes together."""
    return [quoted or word for quoted, word in _TERM.findall(text)]


def search_terms(text: str) -> list[str]:
    """Return what a search asks for: each term must begin a word of the text, or several in a row.

    Terms are separated by spaces; quotes keep words together. Raise `UsageError` for a text in which there is
    nothing to search for.
    """
    terms = list(dict.fromkeys(filter(None, map(searchable, split_terms(text)))))[:MOST_TERMS]
    if text.strip() and not terms:
        raise UsageError("The text to search for has no letter and no digit; expected words.")
    return terms
