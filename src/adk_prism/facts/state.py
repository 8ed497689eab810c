"""Session state at any point of a run: what it began with, and every change since.

A fold of three things, in the order of the log: the state in `RunStarted`, the deltas of events, and
the differences that nodes found. Values stay the JSON they came as, and nothing is ever copied deeply:
a change costs as much as it changes, and what is shown is put together again only after a change.

`cut` is the state for a wire that wants a glance, not everything. The state itself is the first level;
an object or a list below the last level becomes a string that says how much is missing,
`"{… 4 keys}"` or `"[… 10 items]"`. Empty ones stay, for there is nothing to cut. The log has it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import NamedTuple

import msgspec
from msgspec import Raw

from adk_prism.facts.model import Fact, NodeBegan, NodeFinished, RunBegan, StateChanged
from adk_prism.facts.strict_json import repair

DEPTH = 3
"""Levels that a glance shows: a key, what it holds, and what that holds."""

_encode = msgspec.json.Encoder().encode
_read_object = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode


class Difference(NamedTuple):
    """How one state differs from another: what to set, and what to take away."""

    state: dict[str, Raw]
    gone: list[str]


class StateFold(Mapping[str, Raw]):
    """The state of one run, as far as its log has been read."""

    def __init__(self, state: Mapping[str, Raw] | None = None) -> None:
        self._values: dict[str, Raw] = dict(state or {})
        self._whole: Raw | None = None
        """What `snapshot` returned, until something changes."""
        self._cuts: dict[int, _Cut] = {}
        """By depth."""

    def __getitem__(self, key: str) -> Raw:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def feed(self, fact: Fact) -> bool:
        """Read the facts of an entry; return whether it was about the state."""
        match fact:
            case RunBegan():
                self.change(fact.state, [key for key in self if key not in fact.state])
            case StateChanged():
                self.change(fact.delta)
            case NodeBegan() | NodeFinished():
                self.change(fact.state, fact.gone)
            case _:
                return False  # every other fact leaves the state alone
        return True

    def change(self, values: Mapping[str, Raw], gone: Iterable[str] = ()) -> None:
        """Set some keys and take others away."""
        for key, value in values.items():
            self._values[key] = value
            self._forget(key)
        for key in gone:
            if self._values.pop(key, None) is not None:
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._whole = None
        for cut in self._cuts.values():
            cut.stale.add(key)

    def difference(self, state: Mapping[str, Raw]) -> Difference:
        """Return what leads from here to another state. Equal JSON text is equal; else it is set."""
        news = {
            key: value
            for key, value in state.items()
            if key not in self._values or bytes(self._values[key]) != bytes(value)
        }
        return Difference(news, [key for key in self._values if key not in state])

    def snapshot(self) -> Raw:
        """Return the whole state as one JSON object: the same one as before, unless it changed."""
        if self._whole is None:
            self._whole = _join(
                {key: _member(key, bytes(value)) for key, value in self._values.items()}
            )
        return self._whole

    def cut(self, depth: int = DEPTH) -> Raw:
        """Return the state down to `depth` levels, with a marker for deeper values."""
        shown = self._cuts.get(depth)
        if shown is None:
            shown = self._cuts[depth] = _Cut(self._values)
        return shown.take(self._values, depth)


class _Cut:
    """The state to one depth; only keys that changed since are cut again."""

    __slots__ = ("_members", "_whole", "stale")

    def __init__(self, keys: Iterable[str]) -> None:
        self._members: dict[str, bytes] = {}
        self._whole: Raw | None = None
        self.stale: set[str] = set(keys)

    def take(self, values: Mapping[str, Raw], depth: int) -> Raw:
        if self._whole is None or self.stale:
            for key in self.stale:
                if key in values:
                    self._members[key] = _member(key, cut_value(bytes(values[key]), depth - 1))
                else:
                    self._members.pop(key, None)
            self.stale = set()
            self._whole = _join({key: self._members[key] for key in values})
        return self._whole


def _member(key: str, value: bytes) -> bytes:
    return b"%b:%b" % (_encode(key), value)


def _join(members: Mapping[str, bytes]) -> Raw:
    return Raw(b"{%b}" % b",".join(members.values()))


# --------------------------------------------------------------------------- cutting one value


def cut_value(value: bytes, depth: int) -> bytes:
    """Return a JSON value whose objects and lists nest at most `depth` deep, markers below."""
    value = value.strip()
    first = value[:1]
    if first not in (b"{", b"[") or value.count(b"{") + value.count(b"[") <= depth:
        return value
    try:
        return _cut_object(value, depth) if first == b"{" else _cut_list(value, depth)
    except msgspec.MsgspecError:
        sound = repair(value)
        # What no reader can take apart is shown as the text it is.
        return cut_value(sound, depth) if sound is not value else _encode(sound.decode())


def _cut_object(value: bytes, depth: int) -> bytes:
    members = _read_object(value)
    if members and depth <= 0:
        return _encode(f"{{… {_counted(members, 'key')}}}")
    kept = (_member(key, cut_value(bytes(item), depth - 1)) for key, item in members.items())
    return b"{%b}" % b",".join(kept)


def _cut_list(value: bytes, depth: int) -> bytes:
    items = _read_list(value)
    if items and depth <= 0:
        return _encode(f"[… {_counted(items, 'item')}]")
    return b"[%b]" % b",".join(cut_value(bytes(item), depth - 1) for item in items)


def _counted(what: Sized, noun: str) -> str:
    return f"{len(what)} {noun}" if len(what) == 1 else f"{len(what)} {noun}s"
