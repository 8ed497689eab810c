"""Notes: small JSON texts beside a run log, which belong to a run or to a session. Their limits.

What people say about runs and sessions is not part of what happened, so it is no record: it may come later,
change, and be taken back. Knows no storage and no meaning.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, TooLarge, UsageError
from adk_prism.runlog.entry import Origin, RunId

NOTE_BYTES = 16 * 1024
"""Of one note: some pages of text."""

OWNER_NOTES = 64
"""Notes of one owner, so at most a MiB: several people may say something about several messages."""

LONGEST_KEY = 1000
"""Characters of a key: an id of a message and the name of a user fit."""

NoteOwner = RunId | Origin
"""A run, or a session."""


class Note(Struct, frozen=True):
    """A note as it is kept."""

    kind: str
    key: str
    time: float
    """When the log took it."""
    value: bytes
    """JSON, redacted."""


def check_note(note: Note) -> Note:
    """Return a note that may be stored. Raise `TooLarge`, or `UsageError` for a bad key."""
    if len(note.value) > NOTE_BYTES:
        raise TooLarge(f"A note has {len(note.value)} bytes; at most {NOTE_BYTES}.")
    if len(note.key) > LONGEST_KEY:
        raise UsageError(
            f"The key of a note has {len(note.key)} characters; at most {LONGEST_KEY}."
        )
    try:
        note.key.encode()
    except UnicodeEncodeError as error:
        raise UsageError("The key of a note must be valid Unicode.") from error
    return note


def too_many() -> Conflict:
    """Return why an owner gets no further note."""
    return Conflict(f"There are {OWNER_NOTES} notes already; take one back first.")


def owner_name(owner: NoteOwner) -> str:
    """Return one text for an owner."""
    names = (owner.app, owner.user, owner.session) if isinstance(owner, Origin) else (owner,)
    return msgspec.json.encode(names).decode()


def session_named(name: str) -> Origin:
    """Return the session that `owner_name` named."""
    app, user, session = msgspec.json.decode(name, type=tuple[str, str, str])
    return Origin(app=app, user=user, session=session)


def by_kind_and_key(notes: Collection[Note]) -> list[Note]:
    """Return notes in their order."""
    return sorted(notes, key=lambda note: (note.kind, note.key))
