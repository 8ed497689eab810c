"""What becomes of each thing that upstream can send, read from `dispositions.toml`.

A field or value of ADK is *projected* (found in the frames of a protocol other than ADK's own),
*carried* (only in ADK's own protocol, which is lossless) or *dropped*. A type or key of the AI SDK's chunks,
of AG-UI's events or of OpenAI's answers is *emitted* or *declined*. Whatever is not shown has a reason,
written for the developer of a front end who looks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct, structs

from adk_prism.facts import model
from adk_prism.facts.adk_event import BLOCK_REASONS
from adk_prism.facts.adk_event import FINISH_REASONS as ADK_FINISH_REASONS
from adk_prism.protocols.ai_sdk import frames

FILE = "adk_prism/features/fields/dispositions.toml"

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
    """A type of the AI SDK's chunks, AG-UI's events or OpenAI's answers: what becomes of it and its keys."""

    itself: ChunkDisposition
    keys: dict[str, ChunkDisposition] = {}


# --------------------------------------------------------------------------- how the file is written


class _ChunkRow(Struct, forbid_unknown_fields=True):
    facts: str
    keys: str = ""
    dialect: str = ""
    only_dialect: dict[str, str] = {}
    declined: dict[str, str] = {}

    def read(self) -> Chunk:
        itself = Emitted(tuple(_fact(name) for name in self.facts.split()), self.dialect)
        some = {
            key: structs.replace(itself, dialect=only) for key, only in self.only_dialect.items()
        }
        declined = {key: Declined(why) for key, why in _by_name(self.declined)}
        return Chunk(itself, {**dict.fromkeys(self.keys.split(), itself), **some, **declined})


class _File(Struct, forbid_unknown_fields=True):
    fields: dict[str, dict[str, str | list[str] | dict[str, str]]]
    chunks: dict[str, _ChunkRow]
    declined_chunks: dict[str, str]
    finish_reasons: _ChunkRow
    events: dict[str, _ChunkRow]
    declined_events: dict[str, str]
    openai: dict[str, _ChunkRow]
    declined_openai: dict[str, str]
    ag_ui_places: dict[str, str]


_PLACE = re.compile(r"(?P<frame>[^ .]+)\.(?P<key>\S+) \((?P<fact>\w+)\)(?: (?P<how>.+))?")


def _fact(name: str) -> type[Struct]:
    found: type[Struct] = getattr(model, name)
    return found


def _place(written: str) -> Place:
    found = _PLACE.fullmatch(written)
    if found is None:
        raise ValueError(f"{FILE}: a place must be `frame.key (Fact) form`, got {written!r}.")
    return Place(found["frame"], found["key"], _fact(found["fact"]), found["how"] or "")


def _by_name(reasons: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name with its reason; a reason is written once for all names that it is for."""
    return ((name, why) for why, names in reasons.items() for name in names.split())


def _rows(written: Mapping[str, str | list[str] | dict[str, str]]) -> Iterator[tuple[str, Any]]:
    for field, row in written.items():
        if isinstance(row, dict):
            yield from ((name, Carried(why)) for name, why in _by_name(row))
        else:
            places = [row] if isinstance(row, str) else row
            yield field, Projected(tuple(map(_place, places)))


def _reasons(reasons: frozenset[str]) -> Rows:
    """Return why a model stopped, or refused to begin: each of upstream's words, in the AI SDK's."""
    words = frames.FINISH_REASONS
    return {
        each: Projected((Place("finish", "finishReason", model.MessageEnded, f"`{words[each]}`"),))
        for each in sorted(reasons & words.keys())
    }


def _chunk_table(written: Mapping[str, _ChunkRow], never: Mapping[str, str]) -> dict[str, Chunk]:
    declined = {kind: Chunk(Declined(why)) for kind, why in _by_name(never)}
    return {kind: row.read() for kind, row in written.items()} | declined


_file = msgspec.toml.decode(
    files("adk_prism.features.fields").joinpath("dispositions.toml").read_bytes(), type=_File
)

_REFUSALS = BLOCK_REASONS | {"SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"}
"""All reasons to refuse a prompt; some are finish reasons as well."""

FIELDS: dict[str, Rows] = {
    **{name: dict(_rows(written)) for name, written in _file.fields.items()},
    "FinishReason": _reasons(ADK_FINISH_REASONS),
    "BlockedReason": _reasons(_REFUSALS),
}
"""By upstream type, by field or value."""

CHUNKS = _chunk_table(_file.chunks, _file.declined_chunks)
"""By chunk type."""

FINISH_REASONS = _file.finish_reasons.read().keys
"""By value of `finish.finishReason`."""

EVENTS = _chunk_table(_file.events, _file.declined_events)
"""By event type of AG-UI."""

OPENAI = _chunk_table(_file.openai, _file.declined_openai)
"""By type of OpenAI's answers: the `type` of an event or output item, else the class."""

PLACES = _file.ag_ui_places
"""The beginning of a place in the AI SDK's chunks → its place in AG-UI's events, and in which form."""


def ag_ui_place(place: Place) -> Place:
    """Return where AG-UI's clients find a value. Raise `KeyError` for a place without a row."""
    path = str(place)
    start = max((each for each in PLACES if begins(path, each)), key=len, default="")
    there, _, how = PLACES[start].partition(" ")
    frame, _, key = f"{there}{path[len(start) :]}".partition(".")
    return structs.replace(place, frame=frame, key=key, how=how[1:-1], protocol="ag-ui")


def begins(path: str, start: str) -> bool:
    """Return whether a place is another one, or inside it."""
    rest = path.removeprefix(start)
    return path == start or (rest != path and rest.startswith((".", "[")))


def proof(field: str, place: Place) -> str:
    """Return the id of the test that checks a field at a place."""
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
