"""A value that changes along a run: what it was at any cursor, found by bisection.

The whole of time travel rests on this: keeping changes instead of copies, so memory grows with what
changed and a look at any cursor costs one bisection per value.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

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
