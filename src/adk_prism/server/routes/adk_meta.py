"""What this server is and what it serves, in ADK's words: health, version, apps.

Follows google-adk 2.13 `cli/api_server.py`. Beyond ADK: `/health` is 503 while the server drains,
`/version` adds `adkPrism`. ADK's internal apps (`__…`) do not exist here.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
from fastapi import APIRouter, Query, Response
from google.adk import version as adk_version

from adk_prism.errors import SourceError
from adk_prism.server.adk.adk_models import AppInfo, AppList, Health, Version
from adk_prism.server.adk.app_graph import describe_graph
from adk_prism.server.adk.app_info import describe_app
from adk_prism.server.guards.name_rules import AppName
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.source.apps import Apps
from adk_prism.source.served_app import ServedApp
from adk_prism.version import VERSION


def routes(apps: Apps, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of health, version and apps."""
    router = APIRouter(route_class=StrictRoute, tags=["ADK: server"])

    @router.get("/health", responses={503: {"model": Health}})
    async def health(response: Response) -> Health:
        """Tell whether the server takes new work; 503 while it goes down."""
        if lifecycle.draining:
            response.status_code = 503
            return Health(status="draining")
        return Health(status="ok")

    @router.get("/version")
    async def version() -> Version:
        """Return the versions of ADK, Python and adk-prism."""
        return Version(
            version=adk_version.__version__,
            language_version=".".join(str(part) for part in sys.version_info[:3]),
            adkPrism=VERSION,
        )

    @router.get("/list-apps")
    async def list_apps(detailed: bool = Query(False)) -> list[str] | AppList:
        """Return the apps' names; with `detailed` what each is, which imports all of them.

        Those that fail are left out of the details.
        """
        names = await asyncio.to_thread(apps.names)
        if not detailed:
            return names
        return AppList(apps=[info for name in names if (info := await _info(name))])

    async def _info(name: str) -> AppInfo | None:
        try:
            return describe_app(name, await apps.open(name))
        except SourceError:  # Reported when it was opened.
            return None

    @router.get("/apps/{app_name}/app-info", response_model_exclude_none=True)
    async def app_info(app_name: AppName) -> AppInfo:
        """Return an app's agents with their instructions and tools."""
        app = await apps.open(app_name)
        agents = await app.details()
        described = describe_app(app_name, app)
        return described.model_copy(update={"agents": agents, "language": "python"})

    @router.get("/dev/apps/{app_name}/build_graph")
    async def build_graph(app_name: AppName) -> Response:
        """Return an app's agents, nodes and tools, as ADK's page draws them."""
        app, found = await apps.open(app_name), apps.find(app_name)
        described = await _described(app, found.path if found is not None else None)
        return Response(described, media_type="application/json")

    return router


async def _described(app: ServedApp, folder: Path | None) -> bytes:
    drawing = app.drawing()
    if drawing is not None:
        return msgspec.json.encode(drawing)
    return await asyncio.to_thread(describe_graph, app.runner("graph"), folder)
