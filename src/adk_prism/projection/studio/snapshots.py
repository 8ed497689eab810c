"""The session's state as frames carry it: written once per change, cut to the depth of the schema.

A snapshot is finished JSON. Frames that show the same state share the same bytes, so a run of many
nodes over a large state costs copying of bytes and no walk through its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.state import DEPTH, StateFold, cut_value
from adk_prism.facts.strict_json import repair

_encode = msgspec.json.Encoder().encode

QUERY, RESPONSE = "query", "response"
_RESERVED = frozenset((QUERY, RESPONSE))


class Snapshot(Struct, frozen=True, gc=False):
    """A state at one moment."""

    state: Raw
    keys: Raw
    """Its top-level keys, as a JSON list."""
    reserved: frozenset[str] = frozenset()
    """Those of its keys that an overlay would use."""


NOTHING_YET = Snapshot(Raw(b"{}"), Raw(b"[]"))


class Snapshots:
    """The state of one run, as far as it has been read."""

    def __init__(self) -> None:
        self._fold = StateFold()
        self._last = NOTHING_YET

    def change(self, values: Mapping[str, Raw], gone: Sequence[str] = ()) -> Snapshot:
        """Set some keys and take others away; return the state then, the same object if it is the same."""
        if not values and not gone:
            return self._last
        fold = self._fold
        same_keys = not gone and values.keys() <= fold.keys()
        fold.change({key: sound(value) for key, value in values.items()}, gone)
        keys = self._last.keys if same_keys else Raw(_encode(list(fold)))
        self._last = Snapshot(fold.cut(DEPTH), keys, _RESERVED & fold.keys())
        return self._last

    def take(self) -> Snapshot:
        """Return the state now."""
        return self._last


def sound(value: Raw) -> Raw:
    """Return a value as JSON that every client reads."""
    before = bytes(value)
    after = repair(before)
    return value if after is before else Raw(after)


def cut(value: Raw) -> Raw:
    """Return any value as a snapshot would show it."""
    return Raw(cut_value(repair(bytes(value)), DEPTH))
