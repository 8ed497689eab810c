"""`GET /api/conversations`: the latest conversations of a user, with their names, pins and forks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from google.adk.sessions.session import Session
from msgspec import Struct, structs
from pydantic import BaseModel, Field, StrictBool

from adk_prism import errors
from adk_prism.adk.apps import Apps
from adk_prism.adk.request import REPEATS
from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.features.forks.forks import ForkLink, read_links
from adk_prism.log.contract import RunLog, RunSummary, SideValue
from adk_prism.log.entry import UPLOADED, Origin, RunId, RunStarted
from adk_prism.protocols.ai_sdk.requests import user_message
from adk_prism.runs.chats import EVALUATION_SESSIONS, Chats
from adk_prism.runs.recorder import FORKED_FROM
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.runs.session_log import AuditedAction, Deletions
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.identity import CallerOf, Chat
from adk_prism.server.lifecycle import remove_session
from adk_prism.server.problems import CHAT_PATH, TEXT_RESPONSES
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.request_tracking import called_by

# ---------------------------------------------------------------------- labels
#
# What a user calls a conversation, and whether it is pinned: notes of its session.


LONGEST_TITLE = 120
"""Characters: two lines of a narrow list."""

_KIND = "conversation"
_MADE = "made title"
"""The key of a title that no person gave: theirs is another note, and wins whenever it comes."""


class ConversationLabel(Struct, frozen=True):
    """Empty: nothing was said."""

    title: str = ""
    pinned: bool = False


def clean_title(title: str) -> str:
    """Return a title on one line. Raise `UsageError` for a long one."""
    words = " ".join(title.split())
    if len(words) > LONGEST_TITLE:
        raise errors.UsageError(f"`title` has {len(words)} characters; at most {LONGEST_TITLE}.")
    return words


def read_label(notes: Iterable[SideValue]) -> ConversationLabel:
    """Read the notes of a session."""
    found = {note.key: msgspec.json.decode(note.value) for note in notes if note.space == _KIND}
    title = found.get("title") or found.get(_MADE, "")
    return ConversationLabel(title, bool(found.get("pinned")))


def wants_title(notes: Iterable[SideValue]) -> bool:
    """Return whether a session had no title yet: none that was given, made, or taken back."""
    return not any(note.space == _KIND and note.key in ("title", _MADE) for note in notes)


async def keep_made_title(log: RunLog, origin: Origin, title: str) -> None:
    """Store a title that was made; what a person has called the conversation, or will, wins."""
    await log.side.put(origin, _KIND, _MADE, msgspec.json.encode(title))
    if not await log.list(app=origin.app, user=origin.user, session=origin.session):
        await log.side.delete(origin, _KIND, _MADE)  # The session was deleted meanwhile.


async def change_label(
    log: RunLog, origin: Origin, title: str | None, pinned: bool | None
) -> ConversationLabel:
    """Change what is given; an empty title, or false, is forgotten. Return the label."""
    for key, value in (("title", title), ("pinned", pinned)):
        if value:
            await log.side.put(origin, _KIND, key, msgspec.json.encode(value))
        elif value is not None:
            await log.side.delete(origin, _KIND, key)
    if title == "":  # The first message again, and no title is made any more.
        await log.side.put(origin, _KIND, _MADE, b'""')
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
        except (errors.NotFound, errors.Gone):  # Removed meanwhile.
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
        raise errors.NotFound("There is no such conversation.")

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


# ---------------------------------------------------------------------- listing


MOST_APPS = 64
"""Apps whose sessions are listed together, one query each; with more, name one."""

LOOKED_THROUGH = 3
"""Sessions looked at for each one that is listed: some clients make many in which nobody says anything."""

TURN = 50
"""Conversations that are read in one turn of the event loop: about a millisecond."""

MOST_CONVERSATIONS = 1000
"""In one list. More are found by their text."""


class ListRoutes:
    """The list of conversations."""

    def __init__(self, context: Context) -> None:
        self._apps = context.apps
        self._log = context.log
        self._deletions = context.runs.deletions
        self._chats = context.chats

    def router(self) -> APIRouter:
        """Return the router of the list."""
        router = APIRouter(prefix="/api", tags=["catalogue"])
        router.get("/conversations")(self.list_conversations)
        return router

    async def list_conversations(
        self,
        caller: CallerOf,
        app: str = "",
        limit: Annotated[int, Query(ge=1, le=MOST_CONVERSATIONS)] = 40,
        text: Annotated[str, Query(max_length=200)] = "",
        session: str = "",
    ) -> list[dict[str, Any]]:
        """Return the caller's latest conversations, newest first, uploaded recordings among them.

        Pinned ones come before all others. `title`: what its user called it, or else the first message,
        which is `said`. `text`: only those with these words in either. `recorded`: whether this server
        recorded a run of it. Of others, which another server wrote or whose runs retention removed, ADK's
        session is shown. `forkedFrom`: the run and cursor that it continues, or with `rerun` answers again;
        `forks`: those of it. Sessions of evaluations are left out, unless one is named.
        """
        user = listed_user(caller, "")
        by_session: dict[Origin, list[RunSummary]] = {}
        for summary in await self._log.list(app=app, user=user, session=session):
            by_session.setdefault(summary.origin, []).append(summary)
        active = {origin: runs[-1].started for origin, runs in by_session.items()}
        if not session:
            every = await self._stored(app, user) | active
            active = {
                origin: at
                for origin, at in every.items()
                if not origin.session.startswith(EVALUATION_SESSIONS)
            }
        notes = await self._log.side.list([*active])
        labels = {origin: read_label(notes.get(origin, ())) for origin in active}
        latest = sorted(active, key=lambda it: (labels[it].pinned, active[it]), reverse=True)
        words = text.casefold().split()
        shown: list[dict[str, Any]] = []
        looked_at = latest[: max(limit, MOST_CONVERSATIONS if words else 0) * LOOKED_THROUGH]
        for place, origin in enumerate(looked_at):
            if len(shown) == limit:
                break
            if place % TURN == TURN - 1:
                await asyncio.sleep(0)
            found = await self._conversation(origin, by_session.get(origin), labels)
            if found is not None and all(word in _searched(found) for word in words):
                forks = await self._forks(origin, read_links(notes.get(origin, ())))
                shown.append(found | {"forks": forks})
        return shown

    async def _forks(self, origin: Origin, links: Sequence[ForkLink]) -> list[dict[str, Any]]:
        """Return the forks of a conversation that are still there."""
        user = origin.user
        return [
            structs.asdict(link)
            for link in links
            if await self._log.list(app=link.app, user=user, session=link.session)
        ]

    async def _stored(self, app: str, user: str) -> dict[Origin, float]:
        """Return when sessions were last changed, whoever did it."""
        served = self._apps.names()
        named = self._apps.find(app) is not None
        names = [app] if named else served[:MOST_APPS] if not app else []
        found: dict[Origin, float] = {}
        for name in names:
            for session in await self._listed(name, user):
                origin = Origin(app=name, user=session.user_id, session=session.id)
                found[origin] = session.last_update_time
        hidden = await self._deletions.current()
        return {origin: at for origin, at in found.items() if origin not in hidden}

    async def _listed(self, app: str, user: str) -> Sequence[Session]:
        """Return a user's sessions of an app; none while the server of a remote one cannot be used."""
        try:
            return await self._apps.sessions(app).list(app, user)
        except (
            errors.SourceError
        ):  # The operator has been told; the conversations in the log are listed.
            return []

    async def _conversation(
        self,
        origin: Origin,
        recorded: Sequence[RunSummary] | None,
        labels: Mapping[Origin, ConversationLabel],
    ) -> dict[str, Any] | None:
        label = labels[origin]
        try:
            runs = recorded or await self._log.list(
                app=origin.app, user=origin.user, session=origin.session
            )
            if not runs:
                return None  # A session in which nobody has said anything.
            head = await self._chats.beginning(runs[0].run)
            said = await first_words(self._chats, runs[0].run, head)
        except (errors.NotFound, errors.Gone):  # Deleted since it was listed.
            return None
        last, point = runs[-1], FORKED_FROM.read(head)
        is_rerun = point is not None and (point.rerun or REPEATS.read(head) is not None)
        named = said
        if (
            point is not None
            and (there := structs.replace(origin, session=point.session)) in labels
        ):
            named = labels[there].title or said
        if named and point is not None:
            named = f"{'Rerun' if is_rerun else 'Fork'} of {named}"[:LONGEST_TITLE]
        return {
            "app": last.origin.app,
            "user": last.origin.user,
            "session": last.origin.session,
            "title": label.title or named,
            "said": said,
            "pinned": label.pinned,
            "started": runs[0].started,
            "active": last.ended or last.started,
            "runs": len(runs),
            "run": last.run,
            "outcome": last.outcome,
            "uploaded": UPLOADED.read(head),
            "recorded": bool(recorded),
            "forkedFrom": structs.asdict(point) | {"rerun": is_rerun} if point else None,
        }


def _searched(conversation: dict[str, Any]) -> str:
    return f"{conversation['title']} {conversation['said']}".casefold()


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


# ---------------------------------------------------------------------------
# Removes conversations that users have deleted, once they can no longer be restored.


REMOVAL = 60.0
"""Seconds between two looks for deleted conversations that can be removed."""


class DeletedSessions:
    """Removes the conversations that users have deleted, once they can no longer be restored."""

    def __init__(
        self,
        apps: Apps,
        locks: SessionLocks,
        log: RunLog,
        deletions: Deletions,
        report: errors.Report,
    ) -> None:
        self._apps = apps
        self._locks = locks
        self._log = log
        self._deletions = deletions
        self._report = report

    async def __call__(self) -> None:
        """Look once. Raise `LogError`."""
        for origin in await self._deletions.due():
            try:
                await self._remove(origin)
            except (
                errors.PrismError
            ) as error:  # A remote app may be away; the next look finds it again.
                self._report(
                    errors.Diagnostic(kind="conversation not removed", cause=errors.cause_of(error))
                )

    async def _remove(self, origin: Origin) -> None:
        await self._locks.stop(origin)
        async with self._locks.held(origin):
            if origin in await self._deletions.due():  # It may have been restored meanwhile.
                await remove_session(self._apps, self._log, origin)
                await self._deletions.forget(origin)
