"""`POST /api/tickets`: a ticket for one URL, for clients that can send no header."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from adk_prism.errors import UsageError
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import Principal, caller_of
from adk_prism.server.identity.tickets import LIFETIME, LONGEST_URL, TicketOffice, place_of_url


class TicketRequest(BaseModel):
    """What a ticket is wanted for."""

    url: str = Field(
        max_length=LONGEST_URL,
        description="Path and query that will be opened, such as /api/runs/run-1/stream?as=studio.",
    )


def routes(tickets: TicketOffice) -> APIRouter:
    """Return the router of tickets."""
    router = APIRouter(route_class=StrictRoute, tags=["identity"])

    @router.post("/api/tickets")
    async def issue(request: Request, asked: TicketRequest) -> dict[str, Any]:
        """Return a ticket: add it to the URL as `ticket`, within 30 seconds, once."""
        caller = caller_of(request)
        if not isinstance(caller, Principal):
            raise UsageError("This server has no authentication; open the URL without a ticket.")
        place = place_of_url(asked.url, request.scope.get("root_path", ""))
        return {"ticket": await tickets.issue(caller, place), "expiresIn": LIFETIME}

    return router
