"""What a person can open: the apps with their models and first prompts, and the latest conversations.

Apps are listed without importing them. What only their code says (agents, models, whether they can be
talked to) is known once they were loaded, and null until then; `GET /api/apps/{app}` loads one. Beside
ADK's `/list-apps`: an app that failed is listed with its error, and a folder that cannot be an app with
the reason.

An app may say what it is in a file `prompts.json` beside its agent: a list of prompts, each a text or an
object with `prompt` and `shows`, or an object with `title`, `description` and such a list as `prompts`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.sessions.session import Session
from google.adk.workflow import BaseNode
from msgspec import structs

from adk_prism.errors import Gone, NotFound, SourceError
from adk_prism.models import ScriptedModel
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation_label import LONGEST_TITLE, ConversationLabel, read_label
from adk_prism.pipeline.deletions import Deletions
from adk_prism.pipeline.evaluations import EVALUATION_SESSIONS
from adk_prism.pipeline.fork_links import ForkLink, read_links
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Origin
from adk_prism.server.adk.app_info import folder_of
from adk_prism.server.conversation_title import first_words
from adk_prism.server.error_text_store import ErrorTexts
from adk_prism.server.guards.name_rules import AppName
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.parameters import CallerOf
from adk_prism.source.app_folder import Found
from adk_prism.source.apps import Apps
from adk_prism.source.bundled_apps import is_bundled
from adk_prism.source.served_app import ServedApp

MOST_APPS = 64
"""Apps whose sessions are listed together, one query each; with more, name one."""

LOOKED_THROUGH = 3
"""Sessions looked at for each one that is listed: some clients make many in which nobody says anything."""

TURN = 50
"""Conversations that are read in one turn of the event loop: about a millisecond."""

MOST_CONVERSATIONS = 1000
"""In one list. More are found by their text."""

MOST_PROMPTS = 64
"""Prompts that an app may offer; a longer list helps nobody to begin."""

LONGEST_PROMPT = 2000
"""Characters of one of them."""


_UNKNOWN = dict.fromkeys(("title", "description", "agents", "models", "offline", "live", "lacks"))
"""What is not known of an app before it was loaded."""


def routes(
    apps: Apps, log: RunLog, deletions: Deletions, chats: Chats, errors: ErrorTexts
) -> APIRouter:
    """Return the router of apps and conversations."""
    router = APIRouter(prefix="/api", tags=["catalogue"])
    catalogue = _Catalogue(apps, log, deletions, chats, errors)
    router.get("/apps")(catalogue.apps)
    router.get("/apps/{app_name}")(catalogue.app)
    router.get("/conversations")(catalogue.conversations)
    return router


class _Catalogue:
    def __init__(
        self, apps: Apps, log: RunLog, deletions: Deletions, chats: Chats, errors: ErrorTexts
    ) -> None:
        self._apps = apps
        self._log = log
        self._deletions = deletions
        self._chats = chats
        self._errors = errors
        self._loaded: dict[str, tuple[ServedApp, dict[str, Any]]] = {}
        """What is known of the apps that were loaded, until they are loaded again."""

    async def apps(self, request: Request) -> list[dict[str, Any]]:
        """Return every app, without importing any: what is known of it, or why it cannot be used.

        `agents`, `models`, `offline`, `live` and `lacks` are null for an app that was not used yet. `error`:
        it could not be loaded. `problem`: it cannot be an app. `live`: it can be talked to, over
        `WS /api/live/{app}`. `remote`: another server runs it. `reloads`: how often it was imported
        again because its code had changed; `changed`: it will be when it is used next. `lacks`: what it
        cannot do, and why. `title`: what it calls itself, if it does.
        """
        return [self._told(request, entry) for entry in await asyncio.to_thread(self._entries)]

    def _told(self, request: Request, entry: dict[str, Any]) -> dict[str, Any]:
        """Return an entry whose error says as much as this client may know."""
        if "error" not in entry:
            return entry
        return entry | {"error": self._errors.text(request.scope, entry["error"])}

    async def app(self, request: Request, app_name: AppName) -> dict[str, Any]:
        """Load an app and return what it is, or the error that keeps it from being loaded."""
        with suppress(SourceError):  # Its entry has the error.
            await self._apps.open(app_name)
        found = self._apps.find(app_name)
        if found is None:
            raise NotFound(f"There is no app {app_name!r}.")
        return self._told(request, await asyncio.to_thread(self._entry, found))

    def _entries(self) -> list[dict[str, Any]]:
        """Read the folder. In a thread: which model an agent would use may import a library."""
        return [self._entry(found) for found in self._apps.found()]

    def _entry(self, found: Found) -> dict[str, Any]:
        name, apps = found.name, self._apps
        if found.problem:
            return {"name": name, "problem": found.problem}
        loaded = self._described(name) if apps.is_loaded(name) else None
        is_ours = apps.keeps_sessions(name)  # another server that failed once may be back
        if (loaded is None or is_ours) and (failure := apps.failure(name)) is not None:
            return {"name": name, "error": failure.detail}
        folder = found.path or (folder_of(apps.app(name).root) if loaded is not None else None)
        about = _about(folder) if folder is not None else {"prompts": []}
        bundled = folder is not None and is_bundled(folder)
        reload = {"reloads": apps.reloads(name), "changed": apps.has_new_code(name)}
        state = {"bundled": bundled, "remote": not is_ours, **reload}
        known = {**state, **about, **(loaded or {})}
        return {"name": name, **_UNKNOWN, **known}

    def _described(self, name: str) -> dict[str, Any]:
        """Return what is known of an app that was loaded."""
        app = self._apps.app(name)
        known = self._loaded.get(name)
        if known is None or known[0] is not app:
            known = self._loaded[name] = app, _read(app)
        return known[1]

    async def conversations(
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
        notes = await self._log.notes([*active])
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
        last, point = runs[-1], head.forked_from
        is_rerun = point is not None and (point.rerun or head.repeats is not None)
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
            "uploaded": head.uploaded,
            "recorded": bool(recorded),
            "forkedFrom": structs.asdict(point) | {"rerun": is_rerun} if point else None,
        }


def _read(app: ServedApp) -> dict[str, Any]:
    """Return what the code of an app says about it."""
    agents = app.agents()
    return {
        "description": app.description,
        "agents": [agent.name for agent in agents],
        "models": sorted({agent.model for agent in agents if agent.model}),
        "offline": app.root is not None and _is_offline(app.root),
        "live": _can_be_live(app),
        "lacks": dict(app.lacks),
    }


def _can_be_live(app: ServedApp) -> bool | None:
    """Return whether an app has a live mode; None for one elsewhere, whose server does not tell."""
    if "live" in app.lacks:
        return False
    return None if app.root is None else True


def _without_evaluations(active: dict[Origin, float]) -> dict[Origin, float]:
    return {it: at for it, at in active.items() if not it.session.startswith(EVALUATION_SESSIONS)}


def _searched(conversation: dict[str, Any]) -> str:
    return f"{conversation['title']} {conversation['said']}".casefold()


def _is_offline(root: BaseNode) -> bool:
    """Tell whether an agent of the app plays a script instead of asking a model."""
    if isinstance(root, LlmAgent) and isinstance(root.model, ScriptedModel):
        return True
    return isinstance(root, BaseAgent) and any(_is_offline(agent) for agent in root.sub_agents)


def _about(folder: Path) -> dict[str, Any]:
    """Read what an app says of itself; a file that cannot be read says nothing."""
    try:
        given = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"prompts": []}
    about = given if isinstance(given, dict) else {"prompts": given}
    listed = about.get("prompts")
    found = [_prompt(item) for item in listed[:MOST_PROMPTS]] if isinstance(listed, list) else []
    prompts = [prompt for prompt in found if prompt["prompt"]]
    texts = ((key, about.get(key)) for key in ("title", "description"))
    said = {key: text[:LONGEST_PROMPT] for key, text in texts if isinstance(text, str)}
    return {"prompts": prompts, **said}


def _prompt(item: Any) -> dict[str, str]:
    fields = item if isinstance(item, dict) else {"prompt": item}
    texts = {key: fields.get(key) for key in ("prompt", "shows")}
    return {
        key: value[:LONGEST_PROMPT] if isinstance(value, str) else ""
        for key, value in texts.items()
    }
