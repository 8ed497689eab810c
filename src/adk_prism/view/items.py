"""The one shape in which a film is written down: items, and marks on them.

An item is there from a cursor on; what becomes of it later is a mark at a later cursor. Nothing that was
written ever changes, so a film grows by what came after a cursor: whole items where they are new, else
their new marks. A reader at a cursor takes the items and the marks that are not past it. The one exception
is a text that ADK did not store: its mark `{"replaced": true}` takes the place of all its marks, and the
item is shown at no cursor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType

Mark = tuple[int, Any]
"""A cursor, and what is new from there on."""


class Kept(Protocol):
    """What can be written down."""

    @property
    def since(self) -> int:
        """Cursor of its first sight."""

    @property
    def touched(self) -> int:
        """Cursor of its last mark, or of its first sight: what lies before need not be looked at."""

    def about(self) -> dict[str, Any]:
        """Return what never changes."""

    def marks(self) -> Sequence[Mark]:
        """Return what became of it, in the order of cursors."""


class Item(Struct, frozen=True, kw_only=True, rename={"about": "is"}):
    """One item, or the growth of one."""

    index: int
    """Its place among the items of its kind."""
    since: int | UnsetType = UNSET
    about: dict[str, Any] | UnsetType = UNSET
    """Not repeated in growth."""
    marks: Sequence[Mark] = ()


def written(items: Iterable[Kept], after: int = 0) -> Iterator[Item]:
    """Yield what there is to write of some items after a cursor."""
    for index, item in enumerate(items):
        if item.since > after:
            yield Item(index=index, since=item.since, about=item.about(), marks=item.marks())
        elif item.touched > after:
            marks = item.marks()
            new = bisect_right(marks, after, key=itemgetter(0))
            yield Item(index=index, marks=marks[new:])
