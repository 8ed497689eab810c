"""Films of runs, whole and as they grow, and single entries seen closely: what the web page reads.

`GET …/film` is the whole film; its ETag is its last cursor. `GET …/film?after=CURSOR` is what came after:
where nothing has come yet and the run goes on, the answer waits for it, and is 204 if nothing came in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response

from adk_prism.errors import PrismError
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.entry_detail import EntryDetails
from adk_prism.pipeline.film_cache import Films
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.pipeline.share import read_page, shared_file
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.server.compression import compressed
from adk_prism.server.conversation_title import ConversationTitles
from adk_prism.server.files.download_name import attachment
from adk_prism.server.identity.caller import Guest, caller_of
from adk_prism.server.identity.parameters import Cursor, Run
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.limits.heavy_work import HeavyWork
from adk_prism.server.routes.model_calls import WithCalls, check_may_see_calls
from adk_prism.server.routes.views import cursor_of
from adk_prism.source.apps import Apps
from adk_prism.view.document import VERSION, encode

PATIENCE = 20.0
"""Seconds that an answer waits for news: below what proxies allow a silent connection."""
_JSON = "application/json"
_REVALIDATE = {"cache-control": "no-cache"}

After = Annotated[str, Query(description="cursor of the last entry that is known")]
Known = Annotated[str, Header(alias="If-None-Match")]


@dataclass(frozen=True, slots=True)
class FilmRoutes:
    """The routes of films, made of the parts that they use."""

    films: Films
    entry_details: EntryDetails
    chats: Chats
    apps: Apps
    lifecycle: Lifecycle
    calls: ModelCalls
    titles: ConversationTitles
    log: RunLog
    heavy: HeavyWork

    def router(self) -> APIRouter:
        """Return the router of films."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}/film", response_class=Response)(self.film)
        router.get("/{run}/entries/{cursor}", response_class=Response)(self.entry)
        router.get("/{run}/share", response_class=Response)(self.share)
        return router

    async def film(
        self, request: Request, run: Run, after: After = "", known: Known = ""
    ) -> Response:
        """Return a run's film, or what came after a cursor."""
        since = cursor_of(after, run)
        if since:
            return await self._growth(request, run, since)
        async with self._slot(request, run), self.films.held(run) as film:
            headers = _REVALIDATE | {"etag": f'W/"{VERSION}-{film.last}"'}
            if headers["etag"] in (each.strip() for each in known.split(",")):
                return Response(status_code=304, headers=headers)
            body = await asyncio.to_thread(encode, film)
        return await compressed(request, body, _JSON, headers)

    async def _size(self, run: RunId) -> int:
        return (await self.log.summary(run)).bytes

    @asynccontextmanager
    async def _slot(self, request: Request, run: RunId) -> AsyncIterator[None]:
        """Wait for the turn of a large run. Raise `TooMany` or `Busy`, `NotFound` or `Gone`."""
        async with self.heavy.slot(caller_of(request), await self._size(run)):
            yield

    async def _growth(self, request: Request, run: Run, after: int) -> Response:
        patience = 0 if self.lifecycle.draining else PATIENCE
        await self.films.past(run, after, patience)
        async with self._slot(request, run), self.films.held(run) as film:
            # Also refuses a cursor that the run does not have.
            body = await asyncio.to_thread(encode, film, after)
            if film.last == after and film.ended is None:
                return Response(status_code=204, headers=_REVALIDATE)
        return await compressed(request, body, _JSON, _REVALIDATE)

    async def entry(self, request: Request, run: Run, cursor: Cursor) -> Response:
        """Return an entry, its facts, and its frames in every protocol."""
        async with self._slot(request, run):
            body = await self.entry_details.of(run, cursor)
        # What was recorded never changes.
        forever = {"cache-control": "private, max-age=31536000, immutable"}
        return await compressed(request, body, _JSON, forever)

    async def share(self, request: Request, run: Run, model_calls: WithCalls = False) -> Response:
        """Return the run as one HTML file, which needs no server; with model calls only if asked for."""
        if model_calls:
            check_may_see_calls(caller_of(request))
        page = await asyncio.to_thread(read_page)
        async with self._slot(request, run):
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
        if started.uploaded or started.derived:
            return b"null"
        try:
            await self.apps.open(started.origin.app)
            return msgspec.json.encode(self.apps.graph(started.origin.app))
        except PrismError:  # the app is not served any more, or fails: the run is shown without
            return b"null"
