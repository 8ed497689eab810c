"""`GET /api/runs`: every run that the caller may see, or those that fit a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from adk_prism.facts.pricing import Prices
from adk_prism.features.search.fields import SEARCH_FIELDS, read_query, shown_found
from adk_prism.features.search.index import RunIndex
from adk_prism.log.contract import RunLog
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf
from adk_prism.server.routes import shown_run

DEFAULT_PAGE, MOST_FOUND = 50, 200
"""Runs in one answer to a search."""

PARTIAL = {"x-prism-search": "partial"}
"""The header of an answer for which not every run could be searched."""


_SEARCH_PARAMETERS = [
    {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
    for name, text in SEARCH_FIELDS.items()
]


@dataclass(frozen=True, slots=True)
class SearchRoutes:
    """The list of runs, made of the parts that it uses."""

    log: RunLog
    index: RunIndex
    prices: Prices

    def router(self) -> APIRouter:
        """Return the router of the list."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("", openapi_extra={"parameters": _SEARCH_PARAMETERS})(self.list_runs)
        return router

    async def list_runs(
        self,
        request: Request,
        response: Response,
        caller: CallerOf,
        app: str = "",
        user: str = "",
        session: str = "",
        limit: Annotated[int | None, Query(ge=1, le=MOST_FOUND)] = None,
        before: Annotated[int | None, Query(ge=1, le=LARGEST_NUMBER)] = None,
    ) -> list[Any]:
        """Return the runs that the caller may see, oldest first; each filter may be left out.

        With a field of a search, `limit` or `before`: the ended runs that fit, newest first, with what they
        are found by. The header `link` names the next page; `x-prism-search: partial` says that some runs
        could not be searched, because they are not indexed yet, or older than what Redis keeps for it.
        """
        owner = listed_user(caller, user)
        fields = {name: request.query_params.get(name, "") for name in SEARCH_FIELDS}
        if not any(fields.values()) and limit is None and before is None:
            found = await self.log.list(app=app, user=owner, session=session)
            return [shown_run(summary) for summary in found]
        query = read_query(fields, self.prices, app=app, user=owner, session=session)
        page = await self.index.search(query, limit=limit or DEFAULT_PAGE, before=before)
        if page.before is not None:
            following = request.url.include_query_params(before=page.before).query
            response.headers["link"] = f'<?{following}>; rel="next"'
        if not page.complete:
            response.headers.update(PARTIAL)
        return [shown_found(each, query.text, self.prices) for each in page.found]
