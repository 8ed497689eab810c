"""What a proof is made of: confidence, citations and reasoning, each with the entry it came from.

A proof belongs to a subject: a specialist, a tool that returned one, or the whole answer. It is
*computed* (given as data: a tool's `proof_layer`, the model provider's own sources), *parsed* (read
from text) or *absent*. No number in it is a default: where none was given, there is none.

These structures are written to clients as they are, so a field that is not there is left out; what a
proof always says (`confidence`, `citations`, `reasoning_chain`) has no default.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, Literal, dataclass_transform

from msgspec import Struct
from msgspec.structs import replace

ProofOrigin = Literal["computed", "parsed", "absent"]
SubjectKind = Literal["specialist", "tool", "answer"]
Level = Literal["very high", "high", "medium", "low", "very low"]
Bound = Literal["about", "at least", "at most"]
Relation = Literal["higher", "within", "lower", "nobody's"]


@dataclass_transform(frozen_default=True, kw_only_default=False)
class _Piece(Struct, frozen=True, omit_defaults=True, gc=False):
    """Base of all pieces."""


class Subject(_Piece):
    """Whose proof it is."""

    kind: SubjectKind
    name: str
    calls: list[str] = []
    """The calls that it answered, as clients know them."""
    path: str = ""
    """Where it spoke, if it did."""


class Reading(_Piece):
    """One statement of confidence, and what it belongs to."""

    value: float | None
    """0 to 1; None for a level in words and for a range."""
    text: str
    """The words that it was read from, or the tool that computed it."""
    origin: ProofOrigin
    cursor: int
    level: Level | Literal[""] = ""
    low: float | None = None
    high: float | None = None
    bound: Bound | Literal[""] = ""
    """The number is only near, or an end of, what was meant."""
    overall: bool = False
    """Said of everything, not of one part."""
    about: str = ""
    section: str = ""
    """The section of the text that contains it."""
    reason: str = ""
    """Given right beside the number."""
    part: bool = False
    """Of one part of what a layer found, which gives a number for all of it as well."""

    @property
    def least(self) -> float | None:
        """The lowest number that the statement allows; None for a word."""
        return self.value if self.value is not None else self.low


class Citation(_Piece):
    """What a statement rests on."""

    source: str
    origin: ProofOrigin
    cursor: int
    reference: str = ""
    uri: str = ""
    excerpt: str = ""
    hash: str = ""
    """Identifies the data that was read."""
    label: str = ""
    """What the text called it: `Regulatory Basis`."""
    section: str = ""
    by: str = ""
    """In the proof of the whole: the specialist who cited it first."""
    used_by: list[str] = []
    """In the proof of the whole: every specialist who cited it."""
    details: dict[str, Any] = {}
    """Whatever else a tool said of it."""


class Factor(_Piece):
    """One named reason why a computed confidence is what it is."""

    name: str
    cursor: int
    value: Any = None
    effect: Any = None
    why: str = ""
    by: str = ""
    """The tool that named it."""


class Step(_Piece):
    """One link of a chain of reasoning."""

    text: str
    kind: Literal["stated", "call", "answer"]
    """Said by a tool or in text; or read from the sequence of calls and answers itself."""
    cursor: int
    origin: ProofOrigin
    call: str = ""


class Unread(_Piece):
    """Text that seems to be about confidence or sources, and could not be read."""

    text: str
    reason: str
    cursor: int


class Claim(_Piece):
    """A sentence of the answer with a figure in it and no citation."""

    text: str
    section: str = ""


class Disagreement(_Piece):
    """Two numbers that should be one."""

    stated: float
    """In the text."""
    relation: Relation
    """How it relates to the numbers that it is based on."""
    text: str
    """The statement."""
    about: str = ""
    low: float | None = None
    high: float | None = None
    """Between which those numbers lie."""


class Brief(_Piece):
    """One specialist, in the proof of the whole."""

    name: str
    origin: ProofOrigin
    confidence: float | None
    level: Level | Literal[""] = ""


class Proof(_Piece):
    """The proof of one subject's answer."""

    subject: Subject
    origin: ProofOrigin
    confidence: float | None
    """0 to 1; None if no number was given."""
    derivation: str
    """How that number came about, in words."""
    readings: list[Reading]
    citations: list[Citation]
    reasoning_chain: list[Step]
    level: Level | Literal[""] = ""
    """The lowest level that was given in words."""
    factors: list[Factor] = []
    unread: list[Unread] = []
    disagreements: list[Disagreement] = []
    uncited: list[Claim] = []
    specialists: list[Brief] = []
    omitted: int = 0
    """Pieces beyond the bounds, which only the log still has."""


# ---------------------------------------------------------------------------
# Which citations refer to the same source, so that a proof lists each source once.
#
# Two citations given as data are equal if title, section (`reference`) and address are, ignoring case
# and punctuation. A text may name a source that a tool cites in full: the name, with or without the
# text that follows it, is then the tool's citation. A bare address is the source with that address.
# Two sections of one law are two sources.

CitationKey = tuple[str, ...]


def unique_citations(citations: Iterable[Citation]) -> list[Citation]:
    """Return each source once, in order of first appearance, with everyone who cited it."""
    given = list(citations)
    known: list[Citation] = []
    numbers: dict[CitationKey, int] = {}
    """The place of a source, by its names."""
    places: dict[int, int] = {}
    """The place of a citation's source, by the `id()` of the citation."""
    users: dict[int, dict[str, None]] = {}
    # A text may name a source that a tool cites only later.
    for citation in sorted(given, key=lambda citation: citation.origin != "computed"):
        identity, names = _identity(citation), _names(citation)
        keys = [identity] if citation.origin == "computed" else names
        place = next((numbers[key] for key in keys if key in numbers), len(known))
        if place == len(known):
            known.append(citation)
        for key in (identity, *names):
            numbers.setdefault(key, place)
        places[id(citation)] = place
        by = filter(None, (citation.by, *citation.used_by))
        users.setdefault(place, {}).update(dict.fromkeys(by))
    return [
        replace(known[place], by=cited_by[0], used_by=cited_by) if cited_by else known[place]
        for place in dict.fromkeys(places[id(citation)] for citation in given)
        for cited_by in [list(users[place])]
    ]


def _identity(citation: Citation) -> CitationKey:
    """Return the key by which citations given as data are compared."""
    return "all", words(citation.source), words(citation.reference), _address(citation.uri)


def _names(citation: Citation) -> list[CitationKey]:
    """Return the names by which a text may refer to a source, the longest first."""
    whole = words(f"{citation.source} {citation.reference}")
    names: list[CitationKey] = [("name", whole), ("name", words(citation.source))]
    if citation.uri and words(citation.source) == words(citation.uri):
        names.append(("address", _address(citation.uri)))
    elif citation.uri:
        names.append(("name", words(citation.uri)))
    return names


def _address(uri: str) -> str:
    """Return an address without scheme, `www.`, trailing slash and case."""
    return uri.split("://", 1)[-1].removeprefix("www.").rstrip("/").lower()


def words(text: str) -> str:
    """Return a text in lower case without punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())
