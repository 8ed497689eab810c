"""`GET /api/runs/{run}/share`: a run as one HTML file that opens from disk, without a server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from adk_prism.adk.apps import Apps
from adk_prism.errors import Forbidden, NotFound, PrismError
from adk_prism.features.app_graph.graph import graph_of
from adk_prism.features.captures.routes import attachment, compressed
from adk_prism.features.conversations.listing import ConversationTitles
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.routes import WithCalls, check_may_see_calls
from adk_prism.features.share.links import LIFETIME, LONGEST, ShareLink, ShareLinks
from adk_prism.features.share.page_file import read_page, shared_file
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import DERIVED, UPLOADED, RunId
from adk_prism.runs.chats import Chats
from adk_prism.runs.session_log import Action, AuditedAction
from adk_prism.server.identity.caller import Guest, Principal, caller_of
from adk_prism.server.identity.identity import Run
from adk_prism.server.observability import AuditLog
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.run_streams import base_url
from adk_prism.server.settings import Settings
from adk_prism.server.throttling import HeavyWork


@dataclass(frozen=True, slots=True)
class ShareRoutes:
    """The route of shared files, made of the parts that it uses."""

    log: RunLog
    chats: Chats
    apps: Apps
    calls: ModelCalls
    titles: ConversationTitles
    heavy: HeavyWork

    def router(self) -> APIRouter:
        """Return the router of shared files."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}/share", response_class=Response)(self.share)
        return router

    async def share(self, request: Request, run: Run, model_calls: WithCalls = False) -> Response:
        """Return the run as one HTML file, which needs no server; with model calls only if asked for."""
        if model_calls:
            check_may_see_calls(caller_of(request))
        page = await asyncio.to_thread(read_page)
        size = (await self.log.summary(run)).bytes
        async with self.heavy.slot(caller_of(request), size):
            entries = [entry async for entry in self.chats.entries(run)]
            if model_calls:
                entries = [await self.calls.in_file(run, entry) for entry in entries]
            graph = await self._graph(run)
            write = partial(shared_file, with_calls=model_calls)
            text = await asyncio.to_thread(write, entries, page, graph)
        # To be kept, not opened: what is opened here has this server's origin.
        headers = {
            "content-disposition": attachment(await self._title(request, run), run, ".html"),
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
        }
        return await compressed(request, text.encode(), "text/html; charset=utf-8", headers)

    async def _title(self, request: Request, run: RunId) -> str:
        origin = (await self.chats.beginning(run)).origin
        return await self.titles.of(origin, as_named=not isinstance(caller_of(request), Guest))

    async def _graph(self, run: RunId) -> bytes:
        """Return the graph of a run's app, if it is one of this server's."""
        started = await self.chats.beginning(run)
        if UPLOADED.read(started) or DERIVED.read(started):
            return b"null"
        try:
            return msgspec.json.encode(graph_of(await self.apps.open(started.origin.app)))
        except PrismError:  # the app is not served any more, or fails: the run is shown without
            return b"null"


# ---------------------------------------------------------------------------
# Share links of a run: made, listed and revoked by whoever owns it.
#
# A link opens every read-only route of its run: `?share=TOKEN` on `/api/runs/{run}` and what lies below.

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
        """Make a link to a run; its token is shown now and never again."""
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
