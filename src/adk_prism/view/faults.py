"""Why values of the grounding panel could not be read, and between which cursors.

Readers of the document have the values, but not the expected types.
"""

from __future__ import annotations

from collections.abc import Iterator

from adk_prism.facts.json_value import read_value
from adk_prism.grounding import PREFIX, key, read
from adk_prism.view.history import History
from adk_prism.view.items import Item, Tracked, written
from adk_prism.view.state import StateFilm, Write

_RECEIPTS = key("search_history")
"""Each of its receipts has a reason of its own."""


def faults(state: StateFilm, after: int = 0) -> dict[str, list[Item]]:
    """Return the keys that were unreadable, with the reasons; an empty reason where they became readable."""
    return {"faults": list(written(_faulty(state), after))}


def _faulty(state: StateFilm) -> Iterator[Tracked]:
    # In the order of first faults, so that later ones are appended.
    found = [
        Tracked({"key": name}, found)
        for name, history in state.histories()
        if name.startswith(PREFIX) and name != _RECEIPTS and (found := _reasons(name, history))
    ]
    yield from sorted(found, key=lambda fault: fault.since)


def _reasons(name: str, history: History[Write]) -> History[str] | None:
    """Return the changes of a key's reason; None if it was always readable."""
    found, last = History[str](), ""
    for cursor, write in history.changes():
        reason = _why(name, write)
        if reason != last:
            found.set(cursor, reason)
            last = reason
    return found if found.cursors else None


def _why(name: str, write: Write) -> str:
    if write.value is None:
        return ""
    return "".join(each.why for each in read({name: read_value(write.value)}).unreadable)
