"""The session's state as frames carry it: written once per change, cut to a depth.

A snapshot is finished JSON. Frames that show the same state share the same bytes, and a change
rewrites the keys that changed, so a run of many nodes over a large state costs copying of bytes and
no walk through its values. On the wire objects and lists end at `DEPTH` levels (the state is the
first one); below stands a marker. The log has everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.strict_json import repair

DEPTH = 3
"""Levels of nested objects, as the schema says."""

_MARKERS = {b"{": b'"{...}"', b"[": b'"[...]"'}
_EMPTY = (b"{}", b"[]")
_encode = msgspec.json.Encoder().encode
_read_object = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode


class Snapshot(Struct, frozen=True, gc=False):
    """A state at one moment."""

    state: Raw
    keys: Raw
    """Its top-level keys, as a JSON list."""


NOTHING_YET = Snapshot(Raw(b"{}"), Raw(b"[]"))


class Snapshots:
    """The state of one run, as far as it has been read."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        """Key → `"key":value`, ready to be joined."""
        self._last: Snapshot | None = NOTHING_YET

    def change(self, values: Mapping[str, Raw], gone: Iterable[str] = ()) -> None:
        """Set some keys and remove others."""
        for key, value in values.items():
            self._members[key] = _member(key, bytes(value))
            self._last = None
        for key in gone:
            if self._members.pop(key, None) is not None:
                self._last = None

    def take(self) -> Snapshot:
        """Return the state now: the same object as before, unless it changed."""
        if self._last is None:
            state = b"{%b}" % b",".join(self._members.values())
            self._last = Snapshot(Raw(state), Raw(_encode(list(self._members))))
        return self._last


def _member(key: str, value: bytes) -> bytes:
    return repair(b"%b:%b" % (_encode(key), cut(value, DEPTH - 1)))


def cut(value: bytes, depth: int) -> bytes:
    """Return a JSON value whose objects and lists are nested at most so deep, a marker below."""
    value = value.strip()
    first = value[:1]
    if first not in _MARKERS or value.count(b"{") + value.count(b"[") <= depth or value in _EMPTY:
        return value
    if depth <= 0:
        return _MARKERS[first]
    try:
        return _cut_inside(value, depth - 1)
    except msgspec.MsgspecError:
        sound = repair(value)
        return cut(sound, depth) if sound is not value else _encode(value.decode(errors="replace"))


def _cut_inside(value: bytes, depth: int) -> bytes:
    if value.startswith(b"{"):
        members = _read_object(value).items()
        return b"{%b}" % b",".join(b"%b:%b" % (_encode(k), cut(bytes(v), depth)) for k, v in members)
    return b"[%b]" % b",".join(cut(bytes(item), depth) for item in _read_list(value))
