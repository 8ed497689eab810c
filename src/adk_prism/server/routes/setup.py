"""`GET /api/setup`: how this server is set up: versions, what works with them, and what is stored where.

It says where things are, so where callers are known it is for administrators. Addresses are shown without
user names, passwords and parameters.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter

from adk_prism.installation import packages
from adk_prism.runlog.contract import RunLog
from adk_prism.server.identity.parameters import Administrator
from adk_prism.server.settings import Settings
from adk_prism.source.adk.capabilities import probe_all


def routes(settings: Settings, log: RunLog, *, reloads: bool) -> APIRouter:
    """Return the router of the set-up; `reloads`: apps are loaded again when their files change."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/setup")
    async def setup() -> dict[str, Any]:
        """Return versions, capabilities with what is off and why, storage with its size, and reloading.

        `places` names where sessions, artifacts and memory are; empty: the default.
        """
        runs = await log.list()
        return {
            "packages": [package._asdict() for package in packages()],
            "capabilities": await asyncio.to_thread(_capabilities),
            "log": {
                "place": shown_place(settings.log),
                "runs": len(runs),
                "bytes": sum(run.bytes for run in runs),
                "maxAge": settings.retention_age,
                "maxBytes": settings.retention_size,
            },
            "places": {
                "sessions": shown_place(settings.sessions),
                "artifacts": shown_place(settings.artifacts),
                "memory": shown_place(settings.memory),
            },
            "dataDir": settings.data_dir,
            "localStorage": settings.local_storage,
            "reloads": reloads,
        }

    return router


def _capabilities() -> list[dict[str, Any]]:
    return [
        {
            "name": each.capability.name,
            "summary": each.capability.summary,
            "on": each.is_on,
            "problem": each.problem,
            "without": each.capability.without,
        }
        for each in probe_all()
    ]


def shown_place(url: str) -> str:
    """Return a URL without what may be secret: user name, password and parameters."""
    scheme, sign, rest = url.partition("://")
    # A password may hold any sign, so what stands before the last @ is cut, wherever that is.
    place = rest.rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{scheme}{sign}{place}" if sign else url.partition("?")[0]
