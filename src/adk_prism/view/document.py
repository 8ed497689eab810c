"""The film as one document: what a page needs to show a run at any cursor, with no Python at hand.

Decides the written form of a film, which shared files keep: its `version` goes up when an old reader
would show something wrong. A document `after` a cursor is the growth of one that ends there. The selector
that reads it is `web/src/film`; golden files hold it equal to `Film.at`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from adk_prism.errors import BadPosition
from adk_prism.runlog.entry import Agent
from adk_prism.view.faults import faults
from adk_prism.view.film import Film
from adk_prism.view.items import Item

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
    """By kind: nodes, waits, keys, said, proofs, sources, classes, receipts, faults."""


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
    for panel in (film.timeline, film.state, film.conversation, film.proof, film.grounding):
        items |= panel.items(after)
    return items | faults(film.state, after)


def _ended(film: Film) -> Ended | None:
    if film.ended is None:
        return None
    cursor, record = film.ended
    return Ended(cursor, record.outcome, record.code, film.proof.completion)
