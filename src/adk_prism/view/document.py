"""The film as one document: what a page needs to show a run at any cursor, with no Python at hand.

Decides the written form of a film, which shared files keep: its `version` goes up when an old reader
would show something wrong. A document `after` a cursor is the growth of one that ends there. The selector
that reads it is `web/src/film`; golden files hold it equal to `Film.at`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from adk_prism.errors import BadPosition
from adk_prism.facts.json_value import read_value
from adk_prism.grounding import PREFIX, key, read
from adk_prism.runlog.entry import Agent
from adk_prism.view.film import Film
from adk_prism.view.items import Item, Tracked, written
from adk_prism.view.state import StateFilm, Write
from adk_prism.view.value_history import History

VERSION = 1


class Ended(Struct, frozen=True):
    """How the run ended."""

    cursor: int
    outcome: str
    code: str
    completion: int | None
    """Cursor of the entry with which the answer was complete."""


class Document(Struct, frozen=True, kw_only=True):
    """A film, or its growth."""

    version: int
    after: int
    """Cursor of the last entry that is not in it; 0: it is whole."""
    last: int
    run: str
    app: str
    user: str
    session: str
    captured: bool
    """Made from bare events: everything else was inferred."""
    uploaded: bool
    agents: list[Agent]
    start: float | None
    """When the run began, in seconds since 1970."""
    ended: Ended | None
    times: Sequence[int]
    """Of each entry, in microseconds since the start."""
    items: dict[str, list[Item]]
    """By kind: nodes, waits, keys, said, proofs, sources, classes, receipts, faults; calls of models and
    artifacts, where there are any."""


def document(film: Film, after: int = 0) -> Document:
    """Write a film down, or what was added after a cursor. Raise `BadPosition` for one past its end."""
    started = film.started
    if started is None or not 0 <= after <= film.last:
        raise BadPosition(f"Cursor {after} is not in this run, which has entries 1 to {film.last}.")
    return Document(
        version=VERSION,
        after=after,
        last=film.last,
        run=started.run,
        app=started.origin.app,
        user=started.origin.user,
        session=started.origin.session,
        captured=started.derived,
        uploaded=started.uploaded,
        agents=started.agents,
        start=film.timeline.start,
        ended=_ended(film),
        times=film.timeline.times[after:].tolist(),
        items=_items(film, after),
    )


def encode(film: Film, after: int = 0) -> bytes:
    """Return the document as JSON."""
    return msgspec.json.encode(document(film, after))


def _items(film: Film, after: int) -> dict[str, list[Item]]:
    items: dict[str, list[Item]] = {}
    panels = (film.timeline, film.state, film.conversation, film.proof, film.grounding)
    for panel in (*panels, film.artifacts):
        items |= panel.items(after)
    return items | faults(film.state, after)


def _ended(film: Film) -> Ended | None:
    if film.ended is None:
        return None
    cursor, record = film.ended
    return Ended(cursor, record.outcome, record.code, film.proof.completion)


_RECEIPTS = key("search_history")
"""Each of its receipts has a reason of its own."""


def faults(state: StateFilm, after: int = 0) -> dict[str, list[Item]]:
    """Return the keys of the research plan that were not valid, with the reasons; empty: valid again.

    Readers of the document have the values, but not the expected types.
    """
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
