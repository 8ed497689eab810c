"""Why a value of the grounding box cannot be read, and from when to when: written down beside the values.

Whoever reads the document has the values, and not the shapes that they should have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec import Struct

from adk_prism.facts.json_value import read_value
from adk_prism.grounding import PREFIX, key, read
from adk_prism.view.history import History
from adk_prism.view.items import Item, Mark, written
from adk_prism.view.state import StateFilm, Write

_RECEIPTS = key("search_history")
"""Each of its receipts says by itself why it cannot be read."""


class _Fault(Struct, frozen=True):
    key: str
    found: list[Mark]

    @property
    def since(self) -> int:
        return self.found[0][0]

    @property
    def touched(self) -> int:
        return self.found[-1][0]

    def about(self) -> dict[str, Any]:
        return {"key": self.key}

    def marks(self) -> list[Mark]:
        return self.found


def faults(state: StateFilm, after: int = 0) -> dict[str, list[Item]]:
    """Return the keys that were once unreadable: why, or an empty string from where they are not."""
    return {"faults": list(written(_faulty(state), after))}


def _faulty(state: StateFilm) -> Iterator[_Fault]:
    # In the order of first faults, so that a fault that comes later is at the end.
    found = [
        _Fault(name, marks)
        for name, history in state.histories()
        if name.startswith(PREFIX) and name != _RECEIPTS and (marks := _marks(name, history))
    ]
    yield from sorted(found, key=lambda fault: fault.since)


def _marks(name: str, history: History[Write]) -> list[Mark]:
    """Return where it became unreadable, for another reason, or readable again."""
    told = [(0, ""), *((at, _why(name, write)) for at, write in history.changes())]
    return [after for before, after in pairwise(told) if before[1] != after[1]]


def _why(name: str, write: Write) -> str:
    if write.value is None:
        return ""
    return "".join(each.why for each in read({name: read_value(write.value)}).unreadable)
