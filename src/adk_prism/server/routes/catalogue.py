"""What a person can open: the apps with their models and first prompts, and the latest conversations.

Beside ADK's `/list-apps`, which leaves out an app that fails: here it is listed with its error. An
app may offer prompts in a file `prompts.json` beside its agent: a list of texts, or of objects with
`prompt` and `shows`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.workflow import BaseNode

from adk_prism.errors import AppFailed, Gone, NotFound
from adk_prism.models import ScriptedModel
from adk_prism.pipeline.live_messages import first_words
from adk_prism.projection.ai_sdk.user_message import user_message
from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import Origin, RunId, RunStarted
from adk_prism.server.adk.app_info import folder_of, root_of
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.parameters import CallerOf
from adk_prism.source.apps import BUNDLED
from adk_prism.source.live.ability import can_talk

MOST_APPS = 64
"""Apps whose sessions are listed together, one query each; with more, name one."""

LONGEST_TITLE = 120
"""Characters of a conversation's title: two lines of a narrow list."""

MOST_PROMPTS = 64
"""Prompts that an app may offer; a longer list helps nobody to begin."""

LONGEST_PROMPT = 2000
"""Characters of one of them."""


def routes(context: Context) -> APIRouter:
    """Return the router of apps and conversations."""
    router = APIRouter(prefix="/api", tags=["catalogue"])
    catalogue = _Catalogue(context)
    router.get("/apps")(catalogue.apps)
    router.get("/conversations")(catalogue.conversations)
    return router


class _Catalogue:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def apps(self, request: Request) -> list[dict[str, Any]]:
        """Return every app: its model, agents and first prompts, or why it could not be loaded.

        `live`: it can be talked to, over `WS /api/live/{app}`.
        """
        return [await self._app(request, name) for name in self._context.apps.names()]

    async def _app(self, request: Request, name: str) -> dict[str, Any]:
        try:
            runner = self._context.apps.runner(name)
        except AppFailed as error:
            return {"name": name, "error": self._context.errors.text(request.scope, error.detail)}
        agents = self._context.apps.agents(name)
        folder = folder_of(root_of(runner))
        return {
            "name": name,
            "description": root_of(runner).description,
            "agents": [agent.name for agent in agents],
            "models": sorted({agent.model for agent in agents if agent.model}),
            "offline": _is_offline(root_of(runner)),
            "live": can_talk(root_of(runner)),
            "bundled": folder is not None and folder.is_relative_to(BUNDLED),
            "prompts": await asyncio.to_thread(_prompts, folder) if folder else [],
        }

    async def conversations(
        self,
        caller: CallerOf,
        app: str = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 40,
    ) -> list[dict[str, Any]]:
        """Return the caller's latest conversations, newest first, uploaded recordings among them.

        `recorded`: whether this server recorded a run of it. Of others, which another server wrote or
        whose runs retention removed, ADK's session is shown.
        """
        user = listed_user(caller, "")
        by_session: dict[Origin, list[RunSummary]] = {}
        for summary in await self._context.log.list(app=app, user=user):
            by_session.setdefault(summary.origin, []).append(summary)
        active = {origin: runs[-1].started for origin, runs in by_session.items()}
        active = await self._stored(app, user) | active
        latest = sorted(active, key=lambda origin: active[origin], reverse=True)
        shown: list[dict[str, Any]] = []
        for origin in latest:
            if len(shown) == limit:
                break
            found = await self._conversation(origin, by_session.get(origin))
            shown += [found] if found is not None else []
        return shown

    async def _stored(self, app: str, user: str) -> dict[Origin, float]:
        """Return when sessions were last changed, whoever did it."""
        names = [app] if app else self._context.apps.names()[:MOST_APPS]
        found: dict[Origin, float] = {}
        for name in names:
            sessions = self._context.apps.stored_sessions(name)
            for session in await sessions.list(name, user) if sessions else ():
                origin = Origin(app=name, user=session.user_id, session=session.id)
                found[origin] = session.last_update_time
        return found

    async def _conversation(
        self, origin: Origin, recorded: Sequence[RunSummary] | None
    ) -> dict[str, Any] | None:
        runs = recorded or await self._context.log.list(
            app=origin.app, user=origin.user, session=origin.session
        )
        if not runs:
            return None  # A session in which nobody has said anything.
        try:
            heads = [await self._context.chats.beginning(runs[0].run)]
        except (NotFound, Gone):  # Deleted since it was listed.
            return None
        last = runs[-1]
        return {
            "app": last.origin.app,
            "user": last.origin.user,
            "session": last.origin.session,
            "title": _title(heads) or (await self._spoken(runs[0].run) if heads[0].live else ""),
            "started": runs[0].started,
            "active": last.ended or last.started,
            "runs": len(runs),
            "run": last.run,
            "outcome": last.outcome,
            "uploaded": heads[0].uploaded,
            "recorded": bool(recorded),
        }

    async def _spoken(self, run: RunId) -> str:
        return _short(await first_words(self._context.chats, run))


def _title(heads: Iterable[RunStarted]) -> str:
    for head in heads:
        spoken = user_message("", head.message)
        for part in (spoken or {}).get("parts", ()):
            if part.get("type") == "text" and part["text"].strip():
                return _short(part["text"])
    return ""


def _short(text: str) -> str:
    return " ".join(text[: LONGEST_TITLE * 4].split())[:LONGEST_TITLE]


def _is_offline(root: BaseNode) -> bool:
    """Tell whether an agent of the app plays a script instead of asking a model."""
    if isinstance(root, LlmAgent) and isinstance(root.model, ScriptedModel):
        return True
    return isinstance(root, BaseAgent) and any(_is_offline(agent) for agent in root.sub_agents)


def _prompts(folder: Path) -> list[dict[str, str]]:
    """Read an app's prompts; a file that is none offers none."""
    try:
        given = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = [_prompt(item) for item in given[:MOST_PROMPTS]] if isinstance(given, list) else []
    return [prompt for prompt in found if prompt["prompt"]]


def _prompt(item: Any) -> dict[str, str]:
    fields = item if isinstance(item, dict) else {"prompt": item}
    texts = {key: fields.get(key) for key in ("prompt", "shows")}
    return {
        key: value[:LONGEST_PROMPT] if isinstance(value, str) else ""
        for key, value in texts.items()
    }
