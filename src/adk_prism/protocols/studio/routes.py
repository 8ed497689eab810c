"""The Studio's routes: runs as SSE Schema v2.

A run is started by POST, or by GET for `EventSource`, which sends a GET again and again until it is
told 204. So:
- a request with `Last-Event-ID` goes on with the run that it names, and never starts another;
- one that has seen the run's end gets 204;
- a GET with `key` starts one run, however often it comes before the first event did;
- a GET from another site's page is refused (`_refuse_cross_site`).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response

from adk_prism.errors import Forbidden, UsageError
from adk_prism.protocols.studio import SPEC
from adk_prism.protocols.studio.requests import read_request
from adk_prism.server.context import Context
from adk_prism.server.host_and_origin import FROM_PAGE_KEY
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.identity.identity import seen_position
from adk_prism.server.request_bodies import AppName, StrictRoute
from adk_prism.server.run_starter import Key, Sent

LastSeen = Annotated[str, Header(alias="Last-Event-ID")]


class StudioRoutes:
    """The routes of the Studio."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def router(self) -> APIRouter:
        """Return the router of the Studio."""
        router = APIRouter(prefix="/api/studio", route_class=StrictRoute, tags=["Studio"])
        router.get("/{app_name}/stream", response_class=Response)(self.get)
        router.post("/{app_name}/stream", response_class=Response)(self.post)
        return router

    async def get(
        self,
        request: Request,
        app_name: AppName,
        input: str = "",
        session_id: str = "",
        user_id: str = "",
        key: Annotated[str, Query(description="Idempotency key")] = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Send a message and stream the run, or resume one after `Last-Event-ID`."""
        if not last_event_id:
            _refuse_cross_site(request)
        if "\0" in input:
            raise UsageError("`input` contains a NUL character, which cannot be stored.")
        body = {"input": input, "session_id": session_id, "user_id": user_id}
        return await self._answer(request, app_name, body, key, last_event_id)

    async def post(
        self,
        request: Request,
        app_name: AppName,
        body: dict[str, Any],
        key: Key = "",
        last_event_id: LastSeen = "",
    ) -> Response:
        """Send a message or answers and stream the run; or resume one after `Last-Event-ID`."""
        return await self._answer(request, app_name, body, key, last_event_id)

    async def _answer(
        self, request: Request, app: str, body: dict[str, Any], key: str, last: str
    ) -> Response:
        self._context.apps.check(app)
        format, caller = self._context.streams.format(request, SPEC), caller_of(request)
        if last:
            run, after = await seen_position(self._context.log, caller, app, last)
            return await self._context.streams.start(run, format, after)
        sent = Sent(caller=caller, key=key, body=msgspec.json.encode(body))
        run = await self._context.starter.start(SPEC, app, read_request(body), sent)
        return await self._context.streams.start(run, format)


def _refuse_cross_site(request: Request) -> None:
    """Raise `Forbidden` for a request that another site's page makes, unless its origin was allowed.

    A page of another site can make a browser send a GET, as an image, a link or a frame. Such a request has
    no `Origin`, so the guard accepts it like a program's.
    """
    if not request.scope[FROM_PAGE_KEY]():
        raise Forbidden(
            "A page of another site may not start a run with GET; use POST. A page of this server has to"
            " send a Referer, unless the server is reached over https or as localhost."
        )
