"""Session state along a run: the snapshot at any cursor, differences, and who wrote what.

Kept as one history per key, so all snapshots are there, however many, and cost nothing but the changes.
A value that is written again as it was is kept once, and no value keeps the event that it came in.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts import model as facts
from adk_prism.facts.state import read_value

# ---------------------------------------------------------------------- items
#
# The serialised form of a film: items, and marks on them.
#
# An item exists from a cursor on; a later change of it is a mark at a later cursor. Items and marks never
# change, so the growth of a film after a cursor is its new items and the new marks of the others. A reader at
# a cursor uses the items and marks up to it. The one exception is a text that ADK did not store: its mark
# `{"replaced": true}` replaces all its marks, and the item is shown at no cursor.


# ---------------------------------------------------------------------------
# A value that changes along a run: what it was at any cursor, found by bisection.
#
# The whole of time travel rests on this: keeping changes instead of copies, so memory grows with what
# changed and a look at any cursor costs one bisection per value.

Value = TypeVar("Value")


class History(Generic[Value]):
    """One value's changes, in the order of their cursors."""

    __slots__ = ("cursors", "values")

    def __init__(self) -> None:
        self.cursors = array("q")
        self.values: list[Value] = []

    def set(self, cursor: int, value: Value) -> None:
        """Note a change; several at one cursor count as the last."""
        if self.cursors and self.cursors[-1] == cursor:
            self.values[-1] = value
        else:
            self.cursors.append(cursor)
            self.values.append(value)

    def changes(self) -> Iterator[tuple[int, Value]]:
        """Yield every change with its cursor."""
        yield from zip(self.cursors, self.values, strict=True)

    def index(self, cursor: int) -> int:
        """Return which change holds at a cursor; -1 before the first."""
        return bisect_right(self.cursors, cursor) - 1

    def at(self, cursor: int) -> Value | None:
        """Return the value at a cursor; None before the first change."""
        index = self.index(cursor)
        return self.values[index] if index >= 0 else None


# ---------------------------------------------------------------------------

Mark = tuple[int, Any]
"""A cursor, and what changed there."""


class Recorded(Protocol):
    """Something that can be serialised as an item."""

    @property
    def since(self) -> int:
        """Cursor of its first occurrence."""

    @property
    def touched(self) -> int:
        """Cursor of its last mark, or of its first occurrence."""

    def about(self) -> dict[str, Any]:
        """Return its constant part."""

    def marks(self) -> Sequence[Mark]:
        """Return its changes, in the order of cursors."""


class Tracked(Struct, frozen=True):
    """A named value and its history; `show` turns a value into a mark."""

    name: dict[str, Any]
    history: History[Any]
    show: Callable[[Any], Any] = lambda value: value

    @property
    def since(self) -> int:
        return self.history.cursors[0]

    @property
    def touched(self) -> int:
        return self.history.cursors[-1]

    def about(self) -> dict[str, Any]:
        return self.name

    def marks(self) -> list[Mark]:
        return [(cursor, self.show(value)) for cursor, value in self.history.changes()]


class Note(Struct, frozen=True):
    """Something that never changes."""

    since: int
    shown: dict[str, Any]

    @property
    def touched(self) -> int:
        return self.since

    def about(self) -> dict[str, Any]:
        return self.shown

    def marks(self) -> list[Mark]:
        return []


class Item(Struct, frozen=True, kw_only=True, rename={"about": "is"}):
    """One item, or the growth of one."""

    index: int
    """Its index among the items of its kind."""
    since: int | UnsetType = UNSET
    about: dict[str, Any] | UnsetType = UNSET
    """Omitted if only new marks are written."""
    marks: Sequence[Mark] = ()


def written(items: Iterable[Recorded], after: int = 0) -> Iterator[Item]:
    """Yield the items and marks after a cursor."""
    for index, item in enumerate(items):
        if item.since > after:
            yield Item(index=index, since=item.since, about=item.about(), marks=item.marks())
        elif item.touched > after:
            marks = item.marks()
            new = bisect_right(marks, after, key=itemgetter(0))
            yield Item(index=index, marks=marks[new:])


# ---------------------------------------------------------------------- state


Scope = Literal["session", "user", "app", "temp"]
_SCOPES: tuple[Scope, ...] = ("user", "app", "temp")
START = "start"
"""The writer of what was there before the run."""


class Write(Struct, frozen=True, gc=False):
    """One key's value from a cursor on; None: the key is gone."""

    value: Raw | None
    writer: str


class KeyChange(Struct, frozen=True):
    """How one key differs between two cursors."""

    key: str
    kind: Literal["added", "changed", "removed"]
    before: Any = None
    after: Any = None
    writer: str = ""


class StateFilm:
    """The state of one run, at every cursor."""

    def __init__(self) -> None:
        self._keys: dict[str, History[Write]] = {}
        self._names: dict[str, str] = {}
        self._writes: list[tuple[int, str]] = []
        """Cursor and key of every write, in order."""
        self._places: dict[str, int] = {}
        """In which order keys first appeared."""
        self._comings: list[tuple[int, str, bool]] = []
        """Cursor, key, and whether it came or went: how the set of keys changed."""
        self._by_node: set[str] = set()
        """Keys whose last write was seen at a node's start or end, before its event."""

    def feed(self, cursor: int, fact: facts.Fact) -> None:
        """Read the facts of an entry."""
        match fact:
            case facts.RunBegan():
                self._write(cursor, fact.state, (), START)
            case facts.StateChanged():
                self._write(cursor, fact.delta, (), fact.speaker.node)
            case facts.NodeBegan():
                self._names[fact.node] = fact.name
                self._write(cursor, fact.state, fact.gone, fact.name)
                self._by_node.update(fact.state)
            case facts.NodeFinished():
                writer = self._names.get(fact.node, fact.node)
                self._write(cursor, fact.state, fact.gone, writer)
                self._by_node.update(fact.state)
            case _:
                pass  # changes no state

    def _write(
        self, cursor: int, values: Mapping[str, Raw], gone: Sequence[str], writer: str
    ) -> None:
        for key, value in values.items():
            self._set(cursor, key, value, writer)
        for key in gone:
            self._set(cursor, key, None, writer)

    def _set(self, cursor: int, key: str, value: Raw | None, writer: str) -> None:
        history = self._keys.setdefault(key, History())
        before = history.values[-1] if history.values else None
        if before is not None and key in self._by_node and _same(before.value, value):
            self._by_node.discard(key)
            return  # recorded twice: at the end of the node that wrote it, and by its event
        was_there = before is not None and before.value is not None
        if was_there != (value is not None):
            self._comings.append((cursor, key, value is not None))
        history.set(cursor, _written(before, value, writer))
        self._writes.append((cursor, key))
        self._places.setdefault(key, len(self._places))

    def raw_at(self, cursor: int) -> dict[str, Raw]:
        """Return the state at a cursor, values undecoded, keys in order of first appearance."""
        found: dict[str, Raw] = {}
        for key, history in self._keys.items():
            write = history.at(cursor)
            if write is not None and write.value is not None:
                found[key] = write.value
        return found

    def keys_at(self, cursors: Iterable[int], most: int) -> dict[int, tuple[list[str], int]]:
        """Return the first keys of the state at each of some cursors, and how many more there were; equal
        neighbours share one list."""
        there: set[str] = set()
        keys: list[str] = []
        found: dict[int, tuple[list[str], int]] = {}
        index = 0
        for cursor in sorted(set(cursors)):
            before = index
            while index < len(self._comings) and self._comings[index][0] <= cursor:
                _, key, came = self._comings[index]
                (there.add if came else there.discard)(key)
                index += 1
            if index != before:
                keys = list(islice((key for key in self._keys if key in there), most))
            found[cursor] = keys, len(there) - len(keys)
        return found

    def at(self, cursor: int) -> dict[Scope, dict[str, Any]]:
        """Return the snapshot at a cursor, by scope."""
        scopes: dict[Scope, dict[str, Any]] = {"session": {}}
        for key, value in self.raw_at(cursor).items():
            scopes.setdefault(scope_of(key), {})[key] = _plain(value)
        return scopes

    def some_at(self, cursor: int, wanted: Callable[[str], bool]) -> dict[str, Any]:
        """Return the values of some keys at a cursor, decoded, in order of first appearance."""
        found = ((key, self._keys[key].at(cursor)) for key in self._keys if wanted(key))
        return {
            key: _plain(write.value)
            for key, write in found
            if write is not None and write.value is not None
        }

    def latest(self, key: str) -> Raw | None:
        """Return a key's newest value: the same object, until another is written."""
        history = self._keys.get(key)
        return history.values[-1].value if history is not None else None

    def difference(
        self, before: int, after: int, wanted: Callable[[str], bool] | None = None
    ) -> list[KeyChange]:
        """Return what changed between two cursors, in order of first appearance; of all keys or some."""
        changes: list[KeyChange] = []
        for key in self._written_between(*sorted((before, after))):
            history = self._keys[key]
            if history.index(before) == history.index(after) or (wanted and not wanted(key)):
                continue
            change = _compare(key, history.at(before), history.at(after))
            if change is not None:
                changes.append(change)
        return changes

    def _written_between(self, before: int, after: int) -> list[str]:
        """Return the keys written after a cursor and up to another, in order of first appearance."""
        since = bisect_right(self._writes, before, key=lambda write: write[0])
        until = bisect_right(self._writes, after, key=lambda write: write[0])
        return sorted({key for _, key in self._writes[since:until]}, key=self._places.__getitem__)

    def writers(self, cursor: int) -> dict[str, str]:
        """Return who wrote each key last."""
        found = ((key, history.at(cursor)) for key, history in self._keys.items())
        return {key: write.writer for key, write in found if write is not None}

    def history(self, key: str) -> list[dict[str, Any]]:
        """Return every write of a key, oldest first."""
        history = self._keys.get(key)
        if history is None:
            return []
        return [
            {"cursor": cursor, "writer": write.writer}
            | ({"value": _plain(write.value)} if write.value is not None else {"removed": True})
            for cursor, write in zip(history.cursors, history.values, strict=True)
        ]

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return the keys with their writes, or those after a cursor."""
        keys = (Tracked({"key": key}, changes, _mark) for key, changes in self._keys.items())
        return {"keys": list(written(keys, after))}

    def histories(self) -> Iterable[tuple[str, History[Write]]]:
        """Return every key with its writes, in order of first appearance."""
        return self._keys.items()


def _written(before: Write | None, value: Raw | None, writer: str) -> Write:
    """Return the write, as the one before where nothing is new in it."""
    known = before.value if before is not None else None
    if value is None or known is None or bytes(known) != bytes(value):
        # A copy: what msgspec decodes is a window on the whole event, and would keep it.
        return Write(None if value is None else value.copy(), writer)
    return before if before is not None and before.writer == writer else Write(known, writer)


def _mark(write: Write) -> dict[str, Any]:
    return {"writer": write.writer} | ({} if write.value is None else {"value": write.value})


def scope_of(key: str) -> Scope:
    """Return which scope ADK keeps a key in."""
    prefix, colon, _ = key.partition(":")
    return next((scope for scope in _SCOPES if colon and scope == prefix), "session")


def _compare(key: str, before: Write | None, after: Write | None) -> KeyChange | None:
    old = before.value if before is not None else None
    new = after.value if after is not None else None
    writer = after.writer if after is not None else ""
    if old is None and new is None:
        return None
    if old is None:
        return KeyChange(key, "added", None, _plain(new), writer)
    if new is None:
        return KeyChange(key, "removed", _plain(old), None, writer)
    if bytes(old) == bytes(new):
        return None
    return KeyChange(key, "changed", _plain(old), _plain(new), writer)


def _plain(value: Raw | None) -> Any:
    return None if value is None else read_value(value)


def _same(before: Raw | None, after: Raw | None) -> bool:
    if before is None or after is None:
        return before is after
    return bytes(before) == bytes(after)


# ---------------------------------------------------------------------------
# Artifacts along a run: which versions events say were saved, when and by whom.
#
# Of several versions that one event saved of one artifact, ADK names the last. The content is
# elsewhere: each version has the cursor and part under which the run's files serve it.


class ArtifactFilm:
    """The artifacts of one run."""

    def __init__(self) -> None:
        self._saved: list[Note] = []

    def feed(self, cursor: int, fact: facts.Fact) -> None:
        """Read the facts of an entry."""
        saved = fact.fact if isinstance(fact, facts.Nested) else fact
        if isinstance(saved, facts.ArtifactSaved):
            shown = {
                "name": saved.filename,
                "version": saved.version,
                "author": saved.speaker.author,
                "part": saved.part,
            }
            self._saved.append(Note(cursor, shown))

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return the saved versions, or those after a cursor; nothing if there are none."""
        found = list(written(self._saved, after))
        return {"artifacts": found} if found else {}

    def at(self, cursor: int) -> list[dict[str, Any]]:
        """Return each artifact with the versions that had been saved at a cursor, in order of first sight."""
        by_name: dict[str, list[dict[str, Any]]] = {}
        for note in self._saved:
            if note.since <= cursor:
                version = {k: v for k, v in note.shown.items() if k != "name"}
                by_name.setdefault(note.shown["name"], []).append({**version, "since": note.since})
        return [{"name": name, "versions": versions} for name, versions in by_name.items()]
