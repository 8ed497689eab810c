"""The kinds of disposition: what becomes of a thing that upstream can say.

A field or value of ADK is *projected* (found in the frames of a protocol other than ADK's own),
*carried* (only in ADK's own protocol, which is lossless) or *dropped*. A chunk type or key of the
AI SDK, or an event type or key of AG-UI, is *emitted* or *declined*. Whatever is not shown has a reason,
written for the developer of a front end who looks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from pydantic.alias_generators import to_camel

PROOF = "tests/features/fields/test_projected_fields.py::test_a_projected_value_is_at_its_place"
"""The test that fails where the value of a projected field is lost; one case per field and place."""


class Place(Struct, frozen=True):
    """Where a value is found: a frame, a key in it, and the fact that brings it there."""

    frame: str
    key: str
    fact: type[Struct]
    how: str = ""
    """In which form, where it is not there as it is."""
    protocol: str = "ai-sdk"

    def __str__(self) -> str:
        return f"{self.frame}.{self.key}"


class Projected(Struct, frozen=True):
    """Shown, at each of these places."""

    places: tuple[Place, ...]

    def __add__(self, other: Projected) -> Projected:
        return Projected(self.places + other.places)


class Carried(Struct, frozen=True):
    """In ADK's own protocol alone."""

    why: str


class Dropped(Struct, frozen=True):
    """In no protocol."""

    why: str


Disposition = Projected | Carried | Dropped
Rows = Mapping[str, Disposition]
"""The fields of one upstream type."""


class Emitted(Struct, frozen=True):
    """A chunk or key that we write, and the facts that cause it."""

    facts: tuple[type[Struct], ...]
    dialect: str = ""
    """The only dialect that has it; empty for all."""


class Declined(Struct, frozen=True):
    """A chunk or key that we do not write."""

    why: str


ChunkDisposition = Emitted | Declined


class Chunk(Struct, frozen=True):
    """A chunk type of the AI SDK, or an event type of AG-UI: what becomes of it, and of its keys."""

    itself: ChunkDisposition
    keys: dict[str, ChunkDisposition] = {}


# --------------------------------------------------------------------------- how tables are written


def at(path: str, fact: type[Struct], how: str = "") -> Projected:
    """Name one place, as `frame.key`. Places are added up: `at(…) + at(…)`."""
    frame, _, key = path.partition(".")
    return Projected((Place(frame, key, fact, how),))


def verbatim(path: str, fact: type[Struct], fields: str) -> dict[str, Projected]:
    """Say that these fields are shown as they are, under their wire names, inside `path`."""
    return {name: at(f"{path}.{to_camel(name)}", fact) for name in fields.split()}


def carried(fields: str, why: str) -> Rows:
    """Say that these fields are carried for one and the same reason."""
    return {name: Carried(why) for name in fields.split()}


def emitted(facts: tuple[type[Struct], ...], keys: str = "", **others: ChunkDisposition) -> Chunk:
    """Describe a chunk that is emitted with these keys, and what becomes of its other keys."""
    itself = Emitted(facts)
    return Chunk(itself, {**dict.fromkeys(keys.split(), itself), **others})


def declined(why: str) -> Chunk:
    """Describe a chunk that is never emitted."""
    return Chunk(Declined(why))


def proof(field: str, place: Place) -> str:
    """Return the id of the test that holds a field to a place."""
    return f"{PROOF}[{field} in {place}]"


def as_json(disposition: Disposition | ChunkDisposition, field: str = "") -> dict[str, Any]:
    """Return a disposition for `fields --json`."""
    kind = type(disposition).__name__.lower()
    match disposition:
        case Projected():
            places = [
                {
                    "protocol": place.protocol,
                    "frame": place.frame,
                    "key": place.key,
                    "fact": place.fact.__name__,
                    "how": place.how,
                    "test": proof(field, place),
                }
                for place in disposition.places
            ]
            return {"disposition": kind, "places": places}
        case Emitted():
            facts = [fact.__name__ for fact in disposition.facts]
            return {"disposition": kind, "facts": facts, "dialect": disposition.dialect}
        case Carried() | Dropped() | Declined():
            return {"disposition": kind, "why": disposition.why}
