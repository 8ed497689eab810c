"""Share links of a run: made, listed and revoked by whoever owns it.

A link opens every read-only route of its run: `?share=TOKEN` on `/api/runs/{run}` and what lies below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from adk_prism.errors import Forbidden, NotFound
from adk_prism.pipeline.audit_actions import Action, AuditedAction
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.server.base_url import base_url
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import Guest, Principal, caller_of
from adk_prism.server.identity.parameters import Run
from adk_prism.server.identity.share_links import LIFETIME, LONGEST, ShareLink, ShareLinks
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.settings import Settings

LinkId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]


class NewLink(BaseModel):
    """What a link is like."""

    expires_in: float = Field(
        default=LIFETIME, alias="expiresIn", gt=0, le=LONGEST, description="Seconds."
    )


@dataclass(frozen=True, slots=True)
class LinkRoutes:
    """The routes of share links, made of the parts that they use."""

    links: ShareLinks
    log: RunLog
    audit: AuditLog
    settings: Settings

    def router(self) -> APIRouter:
        """Return the router of share links."""
        router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["identity"])
        router.post("/{run}/links", status_code=201)(self.create)
        router.get("/{run}/links")(self.list_links)
        router.delete("/{run}/links/{link}", status_code=204)(self.revoke)
        return router

    async def create(
        self, request: Request, run: Run, asked: NewLink | None = None
    ) -> dict[str, Any]:
        """Make a link to a run; its token is told now and never again."""
        owner = await self._owner(request, run)
        lifetime = asked.expires_in if asked else LIFETIME
        link, token = await self.links.create(run, owner.user, lifetime)
        await self._note("link made", run, link.id)
        address = f"{base_url(request, self.settings)}/api/runs/{run}/share?share={token}"
        return {**_shown(link), "token": token, "url": address}

    async def list_links(self, request: Request, run: Run) -> list[dict[str, Any]]:
        """Return the run's links that are good, without their tokens."""
        await self._owner(request, run)
        return [_shown(link) for link in await self.links.of_run(run)]

    async def revoke(self, request: Request, run: Run, link: LinkId) -> None:
        """Take a link back; what it has open is closed."""
        await self._owner(request, run)
        await self.links.revoke(run, link)
        await self._note("link revoked", run, link)

    async def _note(self, action: Action, run: RunId, link: str) -> None:
        origin = (await self.log.summary(run)).origin
        made = AuditedAction(action=action, origin=origin, run=run, about=link)
        await self.audit.note(made)

    async def _owner(self, request: Request, run: RunId) -> Principal:
        """Return who asks, who may: the run was looked at already for everybody who is known."""
        caller = caller_of(request)
        if isinstance(caller, Principal):
            return caller
        if isinstance(caller, Guest):
            raise NotFound("A share link gives no access to the list of share links.")
        await self.log.summary(run)
        raise Forbidden("Share links need authentication; see --tokens and --oidc-issuer.")


def _shown(link: ShareLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "run": link.run,
        "createdBy": link.creator,
        "created": link.created,
        "expires": link.expires,
    }
