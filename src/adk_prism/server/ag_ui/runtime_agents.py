"""The apps of a server as the agents of a CopilotKit runtime: their ids, and what `/info` says of them.

A page that names no agent asks for `default`: the first app, unless one has that name.
"""

from __future__ import annotations

from typing import Any

from adk_prism.server.ag_ui.capabilities import capabilities
from adk_prism.server.guards.name_rules import check_app
from adk_prism.source.apps import Apps
from adk_prism.version import VERSION

Json = dict[str, Any]

DEFAULT = "default"


class RuntimeAgents:
    """The agents of one runtime."""

    def __init__(self, apps: Apps) -> None:
        self._apps = apps

    def app(self, agent: str) -> str:
        """Return the app that an agent's id names. Raise `NotFound`."""
        names = self._apps.names()
        if agent == DEFAULT and DEFAULT not in names and names:
            return names[0]
        name = check_app(agent)
        self._apps.check(name)
        return name

    def info(self) -> Json:
        """Return what the client reads first. No app is imported for it."""
        names = self._apps.names()
        listed = {name: self._described(name) for name in names}
        if names and DEFAULT not in listed:
            listed[DEFAULT] = {**listed[names[0]], "name": DEFAULT}
        endpoints = {"list": True, "inspect": True, "mutations": False, "realtimeMetadata": False}
        return {
            "version": VERSION,
            "mode": "sse",
            "agents": listed,
            "audioFileTranscriptionEnabled": False,
            "threadEndpoints": endpoints,
            "suggestions": False,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }

    def _described(self, name: str) -> Json:
        told: Json = {"name": name, "description": "", "className": "AdkAgent"}
        if self._apps.is_loaded(name):
            known = capabilities(self._apps, name)
            told |= {"description": known["identity"]["description"], "capabilities": known}
        return told
