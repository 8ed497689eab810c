"""`GET /api/conversations`: the latest conversations of a user, with their names, pins and forks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from google.adk.sessions.session import Session
from msgspec import structs

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import REPEATS
from adk_prism.errors import Gone, NotFound, SourceError
from adk_prism.features.conversations.labels import (
    LONGEST_TITLE,
    ConversationLabel,
    first_words,
    read_label,
)
from adk_prism.features.forks.forks import ForkLink, read_links
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import UPLOADED, Origin
from adk_prism.runs.chats import EVALUATION_SESSIONS, Chats
from adk_prism.runs.recorder import FORKED_FROM
from adk_prism.runs.session_log import Deletions
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.identity import CallerOf

MOST_APPS = 64
"""Apps whose sessions are listed together, one query each; with more, name one."""

LOOKED_THROUGH = 3
"""Sessions looked at for each one that is listed: some clients make many in which nobody says anything."""

TURN = 50
"""Conversations that are read in one turn of the event loop: about a millisecond."""

MOST_CONVERSATIONS = 1000
"""In one list. More are found by their text."""


@dataclass(frozen=True, slots=True)
class ListRoutes:
    """The list of conversations, made of the parts that it uses."""

    _apps: Apps
    _log: RunLog
    _deletions: Deletions
    _chats: Chats

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
            active = _without_evaluations(await self._stored(app, user) | active)
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
        except SourceError:  # The operator has been told; the conversations in the log are listed.
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
        except (NotFound, Gone):  # Deleted since it was listed.
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


def _without_evaluations(active: dict[Origin, float]) -> dict[Origin, float]:
    return {it: at for it, at in active.items() if not it.session.startswith(EVALUATION_SESSIONS)}


def _searched(conversation: dict[str, Any]) -> str:
    return f"{conversation['title']} {conversation['said']}".casefold()
