"""What a user calls a conversation, and whether it is pinned: notes of its session."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from adk_prism.errors import UsageError
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin
from adk_prism.runlog.notes import Note

LONGEST_TITLE = 120
"""Characters: two lines of a narrow list."""

_KIND = "conversation"


class ConversationLabel(Struct, frozen=True):
    """Empty: nothing was said."""

    title: str = ""
    pinned: bool = False


def clean_title(title: str) -> str:
    """Return a title on one line. Raise `UsageError` for a long one."""
    words = " ".join(title.split())
    if len(words) > LONGEST_TITLE:
        raise UsageError(f"`title` has {len(words)} characters; at most {LONGEST_TITLE}.")
    return words


def read_label(notes: Iterable[Note]) -> ConversationLabel:
    """Read the notes of a session."""
    found = {note.key: msgspec.json.decode(note.value) for note in notes if note.kind == _KIND}
    return ConversationLabel(found.get("title", ""), bool(found.get("pinned")))


async def change_label(
    log: RunLog, origin: Origin, title: str | None, pinned: bool | None
) -> ConversationLabel:
    """Change what is given; an empty title, or false, is forgotten. Return the label."""
    for key, value in (("title", title), ("pinned", pinned)):
        if value:
            await log.put_note(origin, _KIND, key, msgspec.json.encode(value))
        elif value is not None:
            await log.delete_note(origin, _KIND, key)
    return read_label((await log.notes([origin])).get(origin, ()))
