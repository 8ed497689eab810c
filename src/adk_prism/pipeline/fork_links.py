"""The forks of a conversation, as notes on its session: a fork names its origin, and this is the way back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin
from adk_prism.runlog.notes import Note

KIND = "fork"
MOST_FORKS = 32
"""Forks that a conversation lists, the newest ones: a session has room for some notes of all kinds."""


class ForkLink(Struct, frozen=True):
    """A fork of a conversation, and where it begins."""

    app: str
    session: str
    run: str
    at: int


async def link_fork(log: RunLog, origin: Origin, fork: Origin, at: int, run: str) -> None:
    """Let a conversation know of a fork at a cursor of a run; the oldest that it knows of makes room."""
    known = [note for note in (await log.notes([origin])).get(origin, ()) if note.kind == KIND]
    for note in sorted(known, key=lambda each: each.time)[: len(known) + 1 - MOST_FORKS]:
        await log.delete_note(origin, KIND, note.key)
    link = ForkLink(fork.app, fork.session, run, at)
    with suppress(Conflict):  # No room for one more note: the fork names its origin all the same.
        await log.put_note(origin, KIND, fork.session, msgspec.json.encode(link))


def read_links(notes: Sequence[Note]) -> list[ForkLink]:
    """Return the forks that notes of a session name, oldest first; without those that cannot be read."""
    links: list[ForkLink] = []
    for note in sorted((note for note in notes if note.kind == KIND), key=lambda note: note.time):
        with suppress(
            msgspec.MsgspecError
        ):  # Redacted, or of another version: the list goes on without.
            links.append(msgspec.json.decode(note.value, type=ForkLink))
    return links
