"""`GET /api/connection-check`: a slow stream without a run, for `adk-prism doctor URL`.

It tells when each event was sent, so that a client sees what a proxy in between does to it: whether events
are held back, and whether a silence is cut. Its headers are those of every other stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.run_streams import HEADERS, base_url
from adk_prism.server.settings import Settings

MOST_EVENTS = 20
LONGEST_PAUSE = 1.0
LONGEST_SILENCE = 120.0
"""Longer than any keep-alive may be set to, and than the silence that usual proxies allow."""

Events = Annotated[int, Query(ge=1, le=MOST_EVENTS, description="Events after the first")]
Pause = Annotated[float, Query(ge=0, le=LONGEST_PAUSE, description="Seconds between two events")]
Silence = Annotated[float, Query(ge=0, le=LONGEST_SILENCE, description="Seconds before them")]


def routes(settings: Settings, lifecycle: Lifecycle) -> APIRouter:
    """Return the router. It is not in the schema, since it is no part of any protocol."""
    router = APIRouter(include_in_schema=False)

    @router.get("/api/connection-check", response_class=Response)
    async def check(
        request: Request, events: Events = 5, pause: Pause = 0.2, silence: Silence = 0.0
    ) -> StreamingResponse:
        """Stream some events slowly, after a silence; the first tells how this server is set up."""
        about = {"base": base_url(request, settings), "keepAlive": settings.keep_alive}
        pauses = [silence, *[pause] * (events - 1)]
        return StreamingResponse(_events(about, pauses, lifecycle), headers=HEADERS)

    return router


async def _events(
    about: dict[str, Any], pauses: list[float], lifecycle: Lifecycle
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    yield _event({**about, "sent": 0.0})
    for pause in pauses:
        # In short parts, so that a server that goes down does not wait for it.
        whole, rest = divmod(pause, LONGEST_PAUSE)
        for part in (*[LONGEST_PAUSE] * int(whole), rest):
            if not lifecycle.draining:
                await asyncio.sleep(part)
        yield _event({"sent": loop.time() - began})


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
