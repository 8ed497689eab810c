"""What a conversation is called: as its user named it, or by its first message."""

from __future__ import annotations

from adk_prism.errors import Gone, NotFound
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation_label import LONGEST_TITLE, read_label
from adk_prism.pipeline.live_transcript import first_user_text
from adk_prism.projection.ai_sdk.user_message import user_message
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin, RunId, RunStarted


def short_title(text: str) -> str:
    """Return a text on one line, cut to the length of a title."""
    return " ".join(text[: LONGEST_TITLE * 4].split())[:LONGEST_TITLE]


async def first_words(chats: Chats, run: RunId, head: RunStarted) -> str:
    """Return what a user said first in a run; empty if nothing."""
    for part in (user_message("", head.message) or {}).get("parts", ()):
        if part.get("type") == "text" and part["text"].strip():
            return short_title(part["text"])
    return short_title(await first_user_text(chats, run)) if head.live else ""


class ConversationTitles:
    """Names conversations."""

    def __init__(self, log: RunLog, chats: Chats) -> None:
        self._log = log
        self._chats = chats

    async def of(self, origin: Origin, *, as_named: bool = True) -> str:
        """Return the title of a session's conversation; empty if it has none.

        `as_named`: what its user called it counts. That is a note, which is not for everybody.
        """
        notes = (await self._log.notes([origin])).get(origin, ()) if as_named else ()
        if named := read_label(notes).title:
            return named
        try:
            runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
            if not runs:
                return ""
            return await first_words(
                self._chats, runs[0].run, await self._chats.beginning(runs[0].run)
            )
        except (NotFound, Gone):  # Removed meanwhile.
            return ""
