"""ADK's run routes: `/run` gives a list of events, `/run_sse` a stream of them.

Follows google-adk 2.13 `cli/api_server.py`. Deliberate differences: the run survives its client, until the
next message to its session (`left_runs`); the stream has `id:` lines, keep-alive comments and the header
`x-prism-run`; an error is one event, on `/run` too; an event is never split in two; a message without parts
and a state change is a state-only update; answers that nobody waits for are 409.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from adk_prism.errors import Unprocessable
from adk_prism.pipeline.positioned_frames import positioned_frames
from adk_prism.projection.adk import SPEC
from adk_prism.projection.adk.requests import read_request
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.server.guards.name_rules import check_app
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.run_starter import RunStarter, Sent
from adk_prism.server.run_streams import RUN_HEADER, RunStreams
from adk_prism.source.apps import Apps

Key = Annotated[str, Header(alias="Idempotency-Key")]


class RunAgentRequest(BaseModel):
    """ADK's run request, in either spelling; unknown keys are passed over as ADK does."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    app_name: str | None = None
    user_id: str
    session_id: str
    new_message: dict[str, Any] | None = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    invocation_id: str | None = None
    custom_metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunRoutes:
    """The routes of runs in ADK's own form, made of the parts that they use."""

    apps: Apps
    log: RunLog
    starter: RunStarter
    streams: RunStreams

    def router(self) -> APIRouter:
        """Return the router of runs in ADK's own form."""
        router = APIRouter(route_class=StrictRoute, tags=["ADK: run"])
        router.post("/run")(self.run)
        router.post("/run_sse", response_class=Response)(self.run_sse)
        return router

    async def run(self, request: Request, asked: RunAgentRequest, key: Key = "") -> Response:
        """Run the agent and return all of its events."""
        run = await self._start(request, asked, key, streaming=False)
        format = self.streams.format(request, SPEC)
        async with self._noting_if_left(request, run):
            frames = positioned_frames(self.log, run, format)
            async with aclosing(frames):
                events = [placed.payload.data async for placed in frames]
        return Response(
            b"[" + b",".join(events) + b"]",
            media_type="application/json",
            headers={RUN_HEADER: run},
        )

    async def run_sse(self, request: Request, asked: RunAgentRequest, key: Key = "") -> Response:
        """Run the agent and stream its events."""
        run = await self._start(request, asked, key, streaming=asked.streaming)
        origin = (await self.log.summary(run)).origin
        format = self.streams.format(request, SPEC)
        return await self.streams.start(run, format, on_left=lambda: self.starter.left.note(origin))

    @asynccontextmanager
    async def _noting_if_left(self, request: Request, run: RunId) -> AsyncIterator[None]:
        """Note a client that closes the connection meanwhile."""
        origin = (await self.log.summary(run)).origin

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            self.starter.left.note(origin)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    async def _start(
        self, request: Request, asked: RunAgentRequest, key: str, *, streaming: bool
    ) -> RunId:
        body = asked.model_dump(by_alias=True, exclude_none=True) | {"streaming": streaming}
        sent = Sent(caller=caller_of(request), key=key, body=await request.body())
        return await self.starter.start(SPEC, self._app(asked), read_request(body), sent)

    def _app(self, asked: RunAgentRequest) -> str:
        name = asked.app_name
        if not name:
            names = self.apps.names()
            if len(names) != 1:
                raise Unprocessable("`appName` is missing, and there is more than one app here.")
            name = names[0]
        return check_app(name)
