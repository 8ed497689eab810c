"""Which citations are of the same source, so that a proof lists each source once.

Two citations as data are the same by title, section (`reference`) and address, whatever their case and
signs. A text only names what a tool cites in full: such a name, alone or with what stands behind it, is
the tool's citation. An address alone is the source that has this address. Two sections of one law are
two sources.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from adk_prism.facts.proof_model import Citation

Key = tuple[str, ...]


def once(citations: Iterable[Citation]) -> list[Citation]:
    """Return each source once, in the order of first sight, with everybody who cited it."""
    given = list(citations)
    if len(given) < 2:
        return given
    sources = _Sources()
    # What a text names may be known only from a tool's citation that comes later.
    for citation in sorted(given, key=lambda citation: citation.origin != "computed"):
        sources.add(citation)
    first = {sources.number_of(citation): None for citation in given}
    return [sources.citation(number) for number in first]


class _Sources:
    """Sources by the names that they go by."""

    def __init__(self) -> None:
        self._known: list[Citation] = []
        self._numbers: dict[Key, int] = {}
        self._given: dict[int, int] = {}
        """Which source a citation is of, by the citation's identity as an object."""
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
    """Return what makes a citation the same as another that is given as data."""
    address = _address(citation.uri)
    return (("all", words(citation.source), words(citation.reference), address),)


def _names(citation: Citation) -> tuple[Key, ...]:
    """Return the names by which a text may call a source, the fullest first."""
    whole = words(f"{citation.source} {citation.reference}")
    names: list[Key] = [("name", whole), ("name", words(citation.source))]
    if citation.uri and words(citation.source) == words(citation.uri):
        names.append(("address", _address(citation.uri)))
    elif citation.uri:
        names.append(("name", words(citation.uri)))
    return tuple(names)


def _address(uri: str) -> str:
    """Return an address without what does not tell two pages apart."""
    return uri.split("://", 1)[-1].removeprefix("www.").rstrip("/").lower()


def words(text: str) -> str:
    """Return a text without case and signs."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())
