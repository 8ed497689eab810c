"""What a user calls a conversation, and whether it is pinned: notes of its session."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from pydantic import BaseModel, Field, StrictBool

from adk_prism.errors import Gone, NotFound, UsageError
from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.log.contract import RunLog, SideValue
from adk_prism.log.entry import Origin, RunId, RunStarted
from adk_prism.protocols.ai_sdk.requests import user_message
from adk_prism.runs.chats import Chats
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import Chat
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.server.problems import CHAT_PATH, TEXT_RESPONSES
from adk_prism.server.request_bodies import StrictRoute

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


def read_label(notes: Iterable[SideValue]) -> ConversationLabel:
    """Read the notes of a session."""
    found = {note.key: msgspec.json.decode(note.value) for note in notes if note.space == _KIND}
    return ConversationLabel(found.get("title", ""), bool(found.get("pinned")))


async def change_label(
    log: RunLog, origin: Origin, title: str | None, pinned: bool | None
) -> ConversationLabel:
    """Change what is given; an empty title, or false, is forgotten. Return the label."""
    for key, value in (("title", title), ("pinned", pinned)):
        if value:
            await log.side.put(origin, _KIND, key, msgspec.json.encode(value))
        elif value is not None:
            await log.side.delete(origin, _KIND, key)
    return read_label((await log.side.list([origin])).get(origin, ()))


# ---------------------------------------------------------------------------
# What a conversation is called: as its user named it, or by its first message.


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
        notes = (await self._log.side.list([origin])).get(origin, ()) if as_named else ()
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


# ---------------------------------------------------------------------------
# A conversation as its user keeps it: name it, pin it, delete it, restore it.
#
# Deleting hides a conversation at once and stops its run. It can be restored for a quarter of an
# hour; then its runs, ADK's session and the session's artifacts are removed.


class ChangeConversation(BaseModel):
    """What is left out stays as it is."""

    title: str | None = Field(default=None, description="Empty: the first message again.")
    pinned: StrictBool | None = None


def routes(context: Context) -> APIRouter:
    """Return the router of conversations."""
    router = APIRouter(
        prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=TEXT_RESPONSES
    )
    apps, log, deletions, audit = context.apps, context.log, context.runs.deletions, context.audit

    async def check(origin: Origin) -> None:
        if await log.list(app=origin.app, user=origin.user, session=origin.session):
            return
        if apps.find(origin.app) and await apps.sessions(origin.app).exists(origin):
            return
        raise NotFound("There is no such conversation.")

    @router.patch("/{app_name}/{chat_id}")
    async def change(chat: Chat, given: ChangeConversation) -> dict[str, Any]:
        """Name a conversation, or pin it; return its name (empty: the first message) and its pin."""
        title = None if given.title is None else clean_title(given.title)
        await check(chat)
        label = await change_label(log, chat, title, given.pinned)
        return {"title": label.title, "pinned": label.pinned}

    @router.delete("/{app_name}/{chat_id}")
    async def delete(chat: Chat) -> dict[str, Any]:
        """Delete a conversation and stop its run. `restoreUntil`: seconds since 1970."""
        is_new = chat not in await deletions.current()
        if is_new:
            await check(chat)
        until = await deletions.delete(chat, called_by())
        await context.runs.canceller.stop(chat)
        if is_new:
            await audit.note(AuditedAction(action="session deleted", origin=chat))
        return {"deleted": True, "restoreUntil": until}

    @router.post("/{app_name}/{chat_id}/restore")
    async def restore(chat: Chat) -> dict[str, Any]:
        """Restore a conversation that was deleted, as long as it is there; otherwise nothing happens."""
        async with context.runs.locks.held(chat):
            restored = await deletions.forget(chat)
        await check(chat)
        if restored:
            await audit.note(AuditedAction(action="session restored", origin=chat))
        return {"restored": restored}

    return router


MAX_ENTRIES_READ = 256
"""Entries that are read to find the first text."""


async def first_user_text(chats: Chats, run: RunId) -> str:
    """Return the first text or transcript of the user in a live run; empty if there is none."""
    reader = Reader()
    async with aclosing(chats.entries(run)) as entries:
        async for entry in entries:
            for item in reader.feed(entry):
                if words := _words(item):
                    return words
            if entry.cursor > MAX_ENTRIES_READ:
                break
    return ""


def _words(item: fact.Fact) -> str:
    match item:
        case fact.UserSpoke() | fact.InputTranscribed(final=True):
            return item.text.strip()
        case _:
            return ""
