"""A question as words, and whether a stem, a word or a phrase occurs in it.

Vocabularies are written as plain text: `sever*` stands for every word that begins so, `ea` for that
word alone, `hazard tree*` for words in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, lower case, in order."""

    tokens: tuple[str, ...]

    def has(self, term: str) -> bool:
        """Return whether a term of a vocabulary occurs."""
        wanted = term.split()
        last = len(self.tokens) - len(wanted)
        return any(
            all(_fits(self.tokens[start + i], word) for i, word in enumerate(wanted))
            for start in range(last + 1)
        )

    def hits(self, terms: Iterable[str]) -> list[str]:
        """Return the terms that occur."""
        return [term for term in terms if self.has(term)]

    def without(self, names: Iterable[str]) -> Words:
        """Return the words without a fire's name, which may sound like a subject."""
        tokens = self.tokens
        for name in names:
            tokens = _cut(tokens, read_words(name).tokens)
        return Words(tokens)


def read_words(text: str) -> Words:
    """Return the words of a text."""
    return Words(tuple(_TOKEN.findall(text.lower())))


def terms(text: str) -> tuple[str, ...]:
    """Read a vocabulary: terms separated by commas or line ends."""
    return tuple(term.strip() for term in re.split(r"[,\n]", text) if term.strip())


def _fits(token: str, word: str) -> bool:
    return token.startswith(word[:-1]) if word.endswith("*") else token == word


def _cut(tokens: tuple[str, ...], name: tuple[str, ...]) -> tuple[str, ...]:
    size = len(name)
    for start in range(len(tokens) - size + 1):
        if size and tokens[start : start + size] == name:
            return tokens[:start] + _cut(tokens[start + size :], name)
    return tokens
