"""Words for the same thing, the field that a word belongs to, and words that mean several things.

All of it is data (`data/thesaurus.json`), curated by the project; no model is asked. A concept is the
longest run of plain words that the thesaurus knows, or a part of the query that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..databases.syntax import (
    Dialect,
    Either,
    Every,
    Term,
    Tree,
    parse,
    quoted,
    render,
    stem,
)

_FILE = Path(__file__).parent / "data" / "thesaurus.json"
_LONGEST_PHRASE = 4
# A handful keeps the query readable and within every service's limits.
_MOST_SYNONYMS = 4
_PLAIN = Dialect(term=quoted, both=" ", either=" OR ", without=" NOT ")


@dataclass(frozen=True, slots=True)
class Concept:
    """A part of a query, with its other names; the best known first."""

    tree: Tree
    synonyms: tuple[str, ...] = ()
    field: str = ""

    @property
    def text(self) -> str:
        """Return the concept as it was written."""
        return render(self.tree, _PLAIN)

    def widened(self, synonyms: Sequence[str]) -> Concept:
        """Return the concept or any of the synonyms."""
        terms = [Term(tuple(each.split())) for each in synonyms]
        return Concept(Either((self.tree, *terms)), (), self.field)


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word, and the words that betray it."""

    name: str
    marks: tuple[str, ...]


class Thesaurus:
    """The data, looked up by stems."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._groups: dict[str, tuple[str, ...]] = {}
        for group in _lists(data["synonyms"]):
            for name in group:
                others = tuple(each for each in group if each != name)
                self._groups.setdefault(_key(name), others)
        self._fields = {
            _key(word): name for name, words in _table(data["fields"]).items() for word in words
        }
        self._senses = {
            _key(word): tuple(Sense(name, tuple(marks)) for name, marks in _table(senses).items())
            for word, senses in _mapping(data["senses"]).items()
        }

    def concepts(self, text: str) -> tuple[Concept, ...]:
        """Return the concepts of a query, in its order."""
        tree = parse(text)
        found: list[Concept] = []
        at = 0
        while at < len(tree.parts):
            size = self._known_run(tree.parts[at:])
            found.append(self._concept(tree.parts[at : at + size]))
            at += size
        return tuple(found)

    def senses(self, text: str) -> tuple[Sense, ...]:
        """Return the meanings of a word that has several; nothing for all others."""
        return self._senses.get(_key(text), ())

    def _known_run(self, parts: Sequence[Tree]) -> int:
        for size in range(min(_LONGEST_PHRASE, len(parts)), 1, -1):
            words = [_words(part) for part in parts[:size]]
            if all(words) and _key(" ".join(words)) in self._groups:
                return size
        return 1

    def _concept(self, parts: Sequence[Tree]) -> Concept:
        tree = parts[0] if len(parts) == 1 else Every(tuple(parts))
        key = _key(" ".join(_words(part) for part in parts))
        return Concept(tree, self._groups.get(key, ())[:_MOST_SYNONYMS], self._fields.get(key, ""))


def spoken(concepts: Iterable[Concept]) -> str:
    """Return concepts as the text of a query."""
    parts = tuple(concept.tree for concept in concepts)
    flat: list[Tree] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Every) and not part.without else (part,))
    return render(Every(tuple(flat)), _PLAIN)


@cache
def thesaurus() -> Thesaurus:
    """Return the bundled thesaurus."""
    return Thesaurus(json.loads(_FILE.read_text(encoding="utf-8")))


def _words(part: Tree) -> str:
    return " ".join(part.words) if isinstance(part, Term) else ""


def _key(text: str) -> str:
    return " ".join(stem(word) for word in text.lower().replace("-", " ").split())


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, dict)
    return value


def _lists(value: object) -> list[list[str]]:
    assert isinstance(value, list)
    return value


def _table(value: object) -> Mapping[str, list[str]]:
    assert isinstance(value, dict)
    return value
