"""`GET /api/apps/{app}/agents`: what the agents of an app are made of.

Instructions and tools are the app's, not the user's: where callers are known, this is for administrators.
"""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Response

from adk_prism.diagnostics import Report
from adk_prism.server.guards.name_rules import AppName
from adk_prism.server.identity.parameters import Administrator
from adk_prism.source.agent_details import describe_agents
from adk_prism.source.apps import Apps
from adk_prism.source.redaction import redacted_json
from adk_prism.source.secrets import Secrets


def routes(apps: Apps, secrets: Secrets, report: Report) -> APIRouter:
    """Return the router of agents."""
    router = APIRouter(prefix="/api/apps", tags=["catalogue"])

    @router.get("/{app_name}/agents", response_class=Response, dependencies=[Administrator])
    async def agents(app_name: AppName) -> Response:
        """Return instruction, model and tools of each agent, by name; without secrets."""
        found = await describe_agents(await apps.open(app_name), report)
        body = secrets.json(redacted_json(msgspec.json.encode(found)))
        return Response(body, media_type="application/json")

    return router
