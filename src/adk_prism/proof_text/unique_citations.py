"""Which citations refer to the same source, so that a proof lists each source once.

Two citations given as data are equal if title, section (`reference`) and address are, ignoring case and
punctuation. A text may name a source that a tool cites in full: the name, with or without the text that
follows it, is then the tool's citation. A bare address is the source with that address. Two sections of
one law are two sources.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from adk_prism.facts.proof_model import Citation

Key = tuple[str, ...]


def unique_citations(citations: Iterable[Citation]) -> list[Citation]:
    """Return each source once, in order of first appearance, with everyone who cited it."""
    given = list(citations)
    if len(given) < 2:
        return given
    sources = _Sources()
    # A text may name a source that a tool cites only later.
    for citation in sorted(given, key=lambda citation: citation.origin != "computed"):
        sources.add(citation)
    first = {sources.number_of(citation): None for citation in given}
    return [sources.citation(number) for number in first]


class _Sources:
    """Sources by their names."""

    def __init__(self) -> None:
        self._known: list[Citation] = []
        self._numbers: dict[Key, int] = {}
        self._given: dict[int, int] = {}
        """The source of a citation, by the `id()` of the citation."""
        self._users: dict[int, dict[str, None]] = {}

    def add(self, citation: Citation) -> None:
        keys = _identity(citation) if citation.origin == "computed" else _names(citation)
        known = (self._numbers[key] for key in keys if key in self._numbers)
        number = next(known, len(self._known))
        if number == len(self._known):
            self._known.append(citation)
        for key in (*_identity(citation), *_names(citation)):
            self._numbers.setdefault(key, number)
        self._given[id(citation)] = number
        self._users.setdefault(number, {}).update(dict.fromkeys(_users(citation)))

    def number_of(self, citation: Citation) -> int:
        return self._given[id(citation)]

    def citation(self, number: int) -> Citation:
        users = list(self._users[number])
        known = self._known[number]
        return replace(known, by=users[0], used_by=users) if users else known


def _users(citation: Citation) -> Iterator[str]:
    if citation.by:
        yield citation.by
    yield from citation.used_by


def _identity(citation: Citation) -> tuple[Key, ...]:
    """Return the key by which citations given as data are compared."""
    address = _address(citation.uri)
    return (("all", words(citation.source), words(citation.reference), address),)


def _names(citation: Citation) -> tuple[Key, ...]:
    """Return the names by which a text may refer to a source, the longest first."""
    whole = words(f"{citation.source} {citation.reference}")
    names: list[Key] = [("name", whole), ("name", words(citation.source))]
    if citation.uri and words(citation.source) == words(citation.uri):
        names.append(("address", _address(citation.uri)))
    elif citation.uri:
        names.append(("name", words(citation.uri)))
    return tuple(names)


def _address(uri: str) -> str:
    """Return an address without scheme, `www.`, trailing slash and case."""
    return uri.split("://", 1)[-1].removeprefix("www.").rstrip("/").lower()


def words(text: str) -> str:
    """Return a text in lower case without punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())
