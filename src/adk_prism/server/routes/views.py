"""What a person sees of a run at a playhead: the panels of its film, as JSON.

The same for a run that goes on, one that is over and an uploaded recording; nothing is run for it.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from adk_prism.errors import BadPosition
from adk_prism.pipeline.film_cache import Films
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import parse_position
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.limits.heavy_work import HeavyWork
from adk_prism.view.film import Film

At = Annotated[str, Query(description="cursor of the playhead; without: the last entry")]
Panel = Annotated[
    str,
    Query(description="timeline, state, graph, conversation, proof, grounding, artifacts or nodes"),
]
Since = Annotated[str, Query(alias="from", description="cursor to which the state is compared")]
Key = Annotated[str, Query(description="state key whose every write is listed")]


def routes(log: RunLog, films: Films, heavy: HeavyWork) -> APIRouter:
    """Return the router of views."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    async def view(
        caller: CallerOf, run: Run, at: At = "", panel: Panel = "", since: Since = "", key: Key = ""
    ) -> Response:
        """Return what the panels show at a cursor."""
        cursor, before = cursor_of(at, run), cursor_of(since, run)
        async with (
            heavy.slot(caller, (await log.summary(run)).bytes),
            films.held(run) as film,
        ):
            body = await asyncio.to_thread(_written, film, cursor, panel, before, key)
        return Response(body, media_type="application/json")

    router.get("/{run}/view")(view)
    return router


def _written(film: Film, at: int | None, panel: str, since: int | None, key: str) -> bytes:
    """Return a view as JSON. A member at a time: while one is written, no other thread runs."""
    shown = film.at(at, panel, since=since, key=key)
    members = (
        b"%b:%b" % (msgspec.json.encode(name), msgspec.json.encode(value))
        for name, value in shown.items()
    )
    return b"{%b}" % b",".join(members)


def cursor_of(text: str, run: str) -> int | None:
    """Read a cursor; None where nothing was given. Raise `BadPosition` for anything else."""
    if not text:
        return None
    position = parse_position(text, run)
    if position.part is not None:
        raise BadPosition(f"{text[:60]!r} is a position; expected a cursor, such as 12.")
    return position.cursor
