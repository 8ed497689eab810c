"""The apps that a person can open, with their models and first prompts.

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
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_toolset import BaseToolset
from google.adk.utils.agent_info import get_tools_info
from google.adk.workflow import BaseNode

from adk_prism.adk.agents import model_of, walk_agents
from adk_prism.adk.app_folder import Found, is_bundled
from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import redacted_json
from adk_prism.adk.secrets import Secrets
from adk_prism.adk.served_app import ServedApp
from adk_prism.errors import Diagnostic, NotFound, Report, SourceError, cause_of
from adk_prism.models import ScriptedModel
from adk_prism.protocols.adk.routes import folder_of
from adk_prism.server.identity.identity import Administrator
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.request_bodies import AppName

MOST_PROMPTS = 64
"""Prompts that an app may offer; a longer list helps nobody to begin."""

LONGEST_PROMPT = 2000
"""Characters of one of them."""


_UNKNOWN = dict.fromkeys(("title", "description", "agents", "models", "offline", "live", "lacks"))
"""What is not known of an app before it was loaded."""


def routes(apps: Apps, errors: ErrorTexts, secrets: Secrets, report: Report) -> APIRouter:
    """Return the router of apps."""
    router = APIRouter(prefix="/api", tags=["catalogue"])
    catalogue = _Catalogue(apps, errors)
    router.get("/apps")(catalogue.apps)
    router.get("/apps/{app_name}")(catalogue.app)

    # Instructions and tools are the app's, not the user's: where callers are known, this is for
    # administrators.
    @router.get("/apps/{app_name}/agents", response_class=Response, dependencies=[Administrator])
    async def agents(app_name: AppName) -> Response:
        """Return instruction, model and tools of each agent, by name; without secrets."""
        found = await describe_agents(await apps.open(app_name), report)
        body = secrets.json(redacted_json(msgspec.json.encode(found)))
        return Response(body, media_type="application/json")

    return router


class _Catalogue:
    def __init__(self, apps: Apps, errors: ErrorTexts) -> None:
        self._apps = apps
        self._errors = errors
        self._loaded: dict[str, tuple[ServedApp, dict[str, Any]]] = {}
        """What is known of the apps that were loaded, until they are loaded again."""

    async def apps(self, request: Request) -> list[dict[str, Any]]:
        """Return every app, without importing any: what is known of it, or why it cannot be used.

        `agents`, `models`, `offline`, `live` and `lacks` are null for an app that was not used yet. `error`:
        it could not be loaded. `problem`: it cannot be an app. `live`: it can be talked to, over
        `WS /api/live/{app}`. `remote`: another server runs it. `reloads`: how often it was imported
        again because its code had changed; `changed`: it will be when it is used next; `reloadError`: the
        changed code could not be loaded, and the code from before is used. `lacks`: what it cannot do, and
        why. `title`: what it calls itself, if it does.
        """
        # In a thread: which model an agent would use may import a library.
        entries = await asyncio.to_thread(lambda: [*map(self._entry, self._apps.found())])
        return [self._with_error_text(request, entry) for entry in entries]

    def _with_error_text(self, request: Request, entry: dict[str, Any]) -> dict[str, Any]:
        """Return an entry whose error says as much as this client may know."""
        told = {key: entry[key] for key in ("error", "reloadError") if key in entry}
        return entry | {key: self._errors.text(request.scope, text) for key, text in told.items()}

    async def app(self, request: Request, app_name: AppName) -> dict[str, Any]:
        """Load an app and return what it is, or the error that keeps it from being loaded."""
        with suppress(SourceError):  # Its entry has the error.
            await self._apps.open(app_name)
        found = self._apps.find(app_name)
        if found is None:
            raise NotFound(f"There is no app {app_name!r}.")
        return self._with_error_text(request, await asyncio.to_thread(self._entry, found))

    def _entry(self, found: Found) -> dict[str, Any]:
        name, apps = found.name, self._apps
        if found.problem:
            return {"name": name, "problem": found.problem}
        loaded = self._described(name) if apps.is_loaded(name) else None
        is_ours = apps.keeps_sessions(name)  # another server that failed once may be back
        failure = apps.failure(name) if loaded is None or is_ours else None
        if failure is not None and loaded is None:
            return {"name": name, "error": failure.detail}
        folder = found.path or (folder_of(apps.app(name).root) if loaded is not None else None)
        about = _about(folder) if folder is not None else {"prompts": []}
        bundled = folder is not None and is_bundled(folder)
        reload: dict[str, Any] = {"reloads": apps.reloads(name)}
        reload["changed"] = failure is None and apps.has_new_code(name)
        if failure is not None:
            reload["reloadError"] = failure.detail
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


# ---------------------------------------------------------------------------
# What an agent of an app is made of: instruction, model and tools with their schemas, by its name.
#
# Read with google-adk's own description of tools, for every agent of the app, whatever its root is:
# ADK's `app-info` describes only an `LlmAgent` and its sub-agents. A toolset may have to ask another
# server for its tools; one that fails or is slow is named with `problem`, and the others are
# described.

PATIENCE = 5.0
"""Seconds for the tools of one toolset: somebody looks at the page, and can look again."""


async def describe_agents(app: ServedApp, report: Report) -> dict[str, dict[str, Any]]:
    """Return the agents by name. Raise `UsageError` for a remote app whose server describes none."""
    if app.root is None:
        found = await app.details()
        return {
            name: _from_info(info.model_dump(exclude_none=True)) for name, info in found.items()
        }
    described = [node for node in walk_agents(app.root) if isinstance(node, LlmAgent)]
    return {agent.name: await _describe(agent, report) for agent in described}


def _from_info(info: Mapping[str, Any]) -> dict[str, Any]:
    tools = [each for tool in info["tools"] for each in tool.get("function_declarations", ())]
    return {"instruction": info["instruction"], "model": "", "tools": tools}


async def _describe(agent: LlmAgent, report: Report) -> dict[str, Any]:
    tools = [each for tool in agent.tools for each in await _tools(tool, report)]
    return {"instruction": _instruction(agent), "model": model_of(agent), "tools": tools}


def _instruction(agent: LlmAgent) -> str:
    given = agent.instruction
    if isinstance(given, str):
        return given
    # It may need the session's state, so that only a run knows the text.
    return f"<InstructionProvider: {getattr(given, '__name__', None) or type(given).__name__}>"


async def _tools(tool: Any, report: Report) -> list[dict[str, Any]]:
    try:
        async with asyncio.timeout(PATIENCE):
            found = await get_tools_info([tool])
    except Exception as error:  # The app's own code, and whatever it connects to.
        name = _name(tool)
        report(Diagnostic(kind="tools not described", detail=name, cause=cause_of(error)))
        return [{"name": name, "problem": "Its tools could not be read."}]
    declared = [each for one in found for each in one.function_declarations or ()]
    return [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in declared]


def _name(tool: Any) -> str:
    if isinstance(tool, BaseToolset | BaseNode):
        return type(tool).__name__
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__))
