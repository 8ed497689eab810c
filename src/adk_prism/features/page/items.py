"""The serialised form of a film: items, and marks on them.

An item exists from a cursor on; a later change of it is a mark at a later cursor. Items and marks never
change, so the growth of a film after a cursor is its new items and the new marks of the others. A reader at
a cursor uses the items and marks up to it. The one exception is a text that ADK did not store: its mark
`{"replaced": true}` replaces all its marks, and the item is shown at no cursor.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from msgspec import UNSET, Struct, UnsetType

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
