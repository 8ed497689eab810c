"""`GET /api/errors/{reference}`: the traceback of an error, for a developer at this machine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from adk_prism.server.error_text_store import ErrorTexts

NONE: dict[int | str, dict[str, Any]] = {
    204: {"description": "no such error, or not for the caller"}
}


def routes(errors: ErrorTexts) -> APIRouter:
    """Return the router of errors."""
    router = APIRouter(prefix="/api/errors", tags=["errors"])

    @router.get("/{reference}", response_class=Response, responses=NONE)
    async def trace(
        request: Request, reference: Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
    ) -> Response:
        """Return `text`, `place`, `source` and `traceback` of an error by the reference in its text.

        204 if there is none, or if it is not for this caller: who sees full error texts sees this
        (`--errors`).
        """
        found = errors.trace(request.scope, reference)
        return Response(status_code=204) if found is None else JSONResponse(found)

    return router
