"""What a person sees of a run at a playhead: the panels of its film, as JSON.

The same for a run that goes on, one that is over and an uploaded recording; nothing is run for it.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from adk_prism.errors import BadPosition
from adk_prism.pipeline.film_cache import Films
from adk_prism.runlog.entry import parse_position
from adk_prism.server.identity.parameters import Run

At = Annotated[str, Query(description="cursor of the playhead; without: the last entry")]
Panel = Annotated[
    str,
    Query(description="timeline, state, graph, conversation, proof, grounding, artifacts or nodes"),
]
Since = Annotated[str, Query(alias="from", description="cursor to which the state is compared")]
Key = Annotated[str, Query(description="state key whose every write is listed")]


def routes(films: Films) -> APIRouter:
    """Return the router of views."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    async def view(
        run: Run, at: At = "", panel: Panel = "", since: Since = "", key: Key = ""
    ) -> Response:
        """Return what the panels show at a cursor."""
        film = await films.of(run)
        shown = film.at(cursor_of(at, run), panel, since=cursor_of(since, run), key=key)
        return Response(msgspec.json.encode(shown), media_type="application/json")

    router.get("/{run}/view")(view)
    return router


def cursor_of(text: str, run: str) -> int | None:
    """Read a cursor; None where nothing was given. Raise `BadPosition` for anything else."""
    if not text:
        return None
    position = parse_position(text, run)
    if position.part is not None:
        raise BadPosition(f"{text[:60]!r} is a position; expected a cursor, such as 12.")
    return position.cursor
