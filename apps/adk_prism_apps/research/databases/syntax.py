"""The text of a query as a small tree, and the tree in the words of each database.

Read tolerantly: whatever is typed becomes some tree of plain words, so that no sign of it reaches a
service as an operator that the researcher did not write. Two terms side by side mean AND. NOT takes
away from the term beside it; alone it selects nothing, so it is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

# More words than this narrow nothing and cost every service dear.
MOST_TERMS = 60
# Deeper parentheses are read as if they were not there.
_DEEPEST = 8

_TOKEN = re.compile(r'"([^"]*)"|([()|])|([^\s()"|]+)')
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OPERATORS = {"AND": "AND", "OR": "OR", "|": "OR", "NOT": "NOT", "ANDNOT": "NOT"}


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or several that stand together in this order."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """All of these, and none of `without`."""

    parts: tuple[Tree, ...]
    without: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of these."""

    parts: tuple[Tree, ...]


Tree = Term | Every | Either


def parse(text: str) -> Every:
    """Read a query; one of no words at all is an `Every` of nothing."""
    tokens = list(_tokens(text))
    tree = _Reader(tokens).whole()
    return tree if isinstance(tree, Every) else Every((tree,))


def terms_of(text: str) -> tuple[Term, ...]:
    """Return the terms that the query asks for, left to right, without what it excludes."""
    return tuple(_terms(parse(text)))


def is_plain(text: str) -> bool:
    """Return whether the query is words alone: no phrase, no choice, nothing excluded."""
    tree = parse(text)
    plain = all(isinstance(part, Term) and len(part.words) == 1 for part in tree.parts)
    return plain and not tree.without


def holds(tree: Tree, text: str) -> bool:
    """Return whether a text answers the query, by stems of its words."""
    stems = [stem(word) for word in words_of(text)]
    return _holds(tree, f" {' '.join(stems)} ")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes a term, a choice and an exclusion."""

    term: Callable[[Term], str]
    both: str
    either: str
    without: str


def render(tree: Tree, dialect: Dialect, *, inner: bool = False) -> str:
    """Write the tree for a database; parentheses stand where they are needed."""
    match tree:
        case Term():
            return dialect.term(tree)
        case Either(parts):
            text = dialect.either.join(render(part, dialect, inner=True) for part in parts)
            return f"({text})" if inner else text
        case Every(parts, without):
            pieces = [render(part, dialect, inner=True) for part in parts]
            text = dialect.both.join(pieces)
            for part in without:
                text += dialect.without + render(part, dialect, inner=True)
            return f"({text})" if inner and len(parts) + len(without) > 1 else text
        case _:
            assert_never(tree)


def quoted(term: Term) -> str:
    """Write a term bare if it is one plain word, else as a phrase."""
    text = " ".join(term.words)
    return f'"{text}"' if needs_quotes(term) else text


def needs_quotes(term: Term) -> bool:
    """Return whether a term, written bare, could be read as something else: two words, or an operator."""
    return len(term.words) > 1 or "-" in term.words[0] or term.words[0].upper() in _OPERATORS


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded: no case, no accents."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"[^\W_]+", "".join(c for c in folded if not unicodedata.combining(c)))


_ENDINGS = (
    "ations",
    "ation",
    "ability",
    "ings",
    "ing",
    "able",
    "ions",
    "ion",
    "ies",
    "es",
    "ed",
    "s",
)


def stem(word: str) -> str:
    """Return a word without its usual English endings: enough to match "model" with "models"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _terms(tree: Tree) -> Iterator[Term]:
    if isinstance(tree, Term):
        yield tree
        return
    for part in tree.parts:
        yield from _terms(part)


def _holds(tree: Tree, stems: str) -> bool:
    match tree:
        case Term(words):
            return f" {' '.join(stem(word) for part in words for word in words_of(part))} " in stems
        case Either(parts):
            return any(_holds(part, stems) for part in parts)
        case Every(parts, without):
            wanted = all(_holds(part, stems) for part in parts)
            return wanted and not any(_holds(part, stems) for part in without)
        case _:
            assert_never(tree)


Token = str | Term


def _tokens(text: str) -> Iterator[Token]:
    """Yield operators, parentheses and terms, of the latter at most `MOST_TERMS`."""
    count = 0
    for found in _TOKEN.finditer(text):
        phrase, sign, word = found.groups()
        if sign in ("(", ")"):
            yield sign
        elif sign or word in _OPERATORS:
            yield _OPERATORS[sign or word]
        elif words := tuple(_WORD.findall(phrase if phrase is not None else word)):
            pieces = [words] if phrase is not None else [(each,) for each in words]
            for piece in pieces[: MOST_TERMS - count]:
                count += 1
                yield Term(piece[:MOST_TERMS])


class _Reader:
    """Reads tokens by precedence: NOT, then AND, then OR. Stray operators are passed over."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> Tree:
        """Read everything; a closing parenthesis too many ends nothing."""
        parts = []
        while self._at < len(self._tokens):
            parts.append(self._either(0))
            if self._peek() == ")":
                self._at += 1
        return _every([part for part in parts if part is not None], [])

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _either(self, depth: int) -> Tree | None:
        parts = [self._every(depth)]
        while self._peek() == "OR":
            self._at += 1
            parts.append(self._every(depth))
        kept = tuple(part for part in parts if part is not None)
        if len(kept) < 2:
            return kept[0] if kept else None
        return Either(kept)

    def _every(self, depth: int) -> Tree | None:
        wanted: list[Tree] = []
        without: list[Tree] = []
        into = wanted
        while (token := self._peek()) not in (None, "OR", ")"):
            self._at += 1
            if token in ("AND", "NOT"):
                into = without if token == "NOT" else wanted
                continue
            part = self._group(depth) if token == "(" else token
            if isinstance(part, Term | Every | Either):
                into.append(part)
            into = wanted
        return _every(wanted, without) if wanted else None

    def _group(self, depth: int) -> Tree | None:
        if depth >= _DEEPEST:
            return None
        inside = self._either(depth + 1)
        if self._peek() == ")":
            self._at += 1
        return inside


def _every(wanted: list[Tree], without: list[Tree]) -> Tree:
    if len(wanted) == 1 and not without:
        return wanted[0]
    flat: list[Tree] = []
    for part in wanted:
        flat.extend(part.parts if isinstance(part, Every) and not part.without else (part,))
    return Every(tuple(flat), tuple(without))
