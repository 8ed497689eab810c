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


LARGEST = 256 * 1024
"""Bytes of a state that is shown whole. Of a larger one a snapshot has what was written last, and says under
the key `[cut]` how many keys are missing."""
BUDGET = 8 * 1024**2
"""Bytes of all snapshots of a run, after which each has `SMALL`: every frame has one, so the frames of a run
with thousands of keys would be a thousand times its size."""
SMALL = 1024
_CUT = "[cut]"

NOTHING_YET = Snapshot(Raw(b"{}"), Raw(b"[]"))


class Snapshots:
    """The state of one run, as far as it has been read."""

    def __init__(self) -> None:
        self._fold = StateFold()
        self._last = NOTHING_YET
        self._recent: dict[str, int] = {}
        """The size of each key with its value, as it was written; what was written last comes last."""
        self._size = self._spent = 0

    def change(self, values: Mapping[str, Raw], gone: Sequence[str] = ()) -> Snapshot:
        """Set some keys and take others away; return the state then, the same object if it is the same."""
        if not values and not gone:
            return self._last
        fold = self._fold
        same_keys = not gone and values.keys() <= fold.keys()
        fold.change({key: sound(value) for key, value in values.items()}, gone)
        for key in (*values, *gone):
            self._size -= self._recent.pop(key, 0)
        self._recent |= {key: len(key) + len(values[key]) for key in values}
        self._size += sum(self._recent[key] for key in values)
        limit = LARGEST if self._spent < BUDGET else SMALL
        if self._size > limit:
            self._last = self._newest(limit)
        else:
            is_whole = _CUT.encode() not in bytes(self._last.keys)
            keys = self._last.keys if same_keys and is_whole else Raw(_encode(list(fold)))
            self._last = Snapshot(fold.cut(DEPTH), keys, _RESERVED & fold.keys())
        self._spent += len(self._last.state)
        return self._last

    def _newest(self, limit: int) -> Snapshot:
        """Return what was written last of the state, as much as fits, and how much is missing."""
        members: dict[str, Raw] = {}
        left = limit
        for key in reversed(self._recent):
            shown = cut_value(bytes(self._fold[key]), DEPTH - 1)
            if len(shown) > limit // 2:
                shown = _encode(f"[cut: {len(shown)} bytes]")
            left -= len(key) + len(shown)
            if left < 0:
                break
            members[key] = Raw(shown)
        if missing := len(self._recent) - len(members):
            members[_CUT] = Raw(_encode(f"{missing} more keys"))
        return Snapshot(
            Raw(_encode(members)), Raw(_encode(list(members))), _RESERVED & members.keys()
        )

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
