"""ADK's run routes: `/run` gives a list of events, `/run_sse` a stream of them.

Follows google-adk 2.13 `cli/api_server.py`. Deliberate differences: the run survives its client, until the
next message to its session (`RunStarter.left`); the stream has `id:` lines, keep-alive comments and a header,
`x-prism-run`; an error is one event, on `/run` too; an event is never split in two; a message without parts
and a state change is a state-only update; answers that nobody waits for are 409.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from google.adk import version as adk_version
from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
from google.adk.workflow import BaseNode
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.runner import origin_folder
from adk_prism.adk.served_app import ServedApp
from adk_prism.errors import SourceError, Unprocessable, UsageError
from adk_prism.log.entry import BEGINNING, RunId, parse_position
from adk_prism.protocols.adk import SPEC
from adk_prism.protocols.adk.projection import read_request
from adk_prism.protocols.adk.sessions import AppInfo, AppList, Health, Version
from adk_prism.runs.broadcast import positioned_frames
from adk_prism.server.context import Context
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.request_bodies import StrictRoute, check_app
from adk_prism.server.run_starter import Key, read_sent
from adk_prism.server.run_streams import RUN_HEADER, base_url
from adk_prism.version import VERSION


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


class RunRoutes:
    """The routes of runs in ADK's own form."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def router(self) -> APIRouter:
        """Return the router of runs in ADK's own form."""
        router = APIRouter(route_class=StrictRoute, tags=["ADK: run"])
        router.post("/run")(self.run)
        router.post("/run_sse", response_class=Response)(self.run_sse)
        return router

    async def run(self, request: Request, asked: RunAgentRequest, key: Key = "") -> Response:
        """Run the agent and return all of its events."""
        run = await self._start(request, asked, key, streaming=False)
        format = self._context.streams.format(request, SPEC)
        async with self._noting_if_left(request, run):
            frames = positioned_frames(self._context.log, run, format)
            async with aclosing(frames):
                events = [placed.payload.data async for placed in frames]
        return Response(
            b"[" + b",".join(events) + b"]",
            media_type="application/json",
            headers={RUN_HEADER: run},
        )

    async def run_sse(
        self,
        request: Request,
        asked: RunAgentRequest,
        key: Key = "",
        last: Annotated[str, Header(alias="Last-Event-ID")] = "",
    ) -> Response:
        """Run the agent and stream its events; with a key sent before, those after `Last-Event-ID`."""
        if last and not key:
            raise UsageError("Last-Event-ID needs the Idempotency-Key that began the run.")
        run = await self._start(request, asked, key, streaming=asked.streaming)
        context = self._context
        origin = (await context.log.summary(run)).origin
        left = partial(context.starter.left.__setitem__, origin, True)
        format = context.streams.format(request, SPEC)
        after = parse_position(last, run) if last else BEGINNING
        return await context.streams.start(run, format, after, on_left=left)

    @asynccontextmanager
    async def _noting_if_left(self, request: Request, run: RunId) -> AsyncIterator[None]:
        """Note a client that closes the connection meanwhile."""
        origin = (await self._context.log.summary(run)).origin

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            self._context.starter.left[origin] = True

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
        sent = await read_sent(request, key, base_url(request, self._context.settings))
        return await self._context.starter.start(SPEC, self._app(asked), read_request(body), sent)

    def _app(self, asked: RunAgentRequest) -> str:
        name = asked.app_name
        if not name:
            names = self._context.apps.names()
            if len(names) != 1:
                raise Unprocessable("`appName` is missing, and there is more than one app here.")
            name = names[0]
        return check_app(name)


# ---------------------------------------------------------------------------
# What this server is and what it serves, in ADK's words: health, version, apps.
#
# Follows google-adk 2.13 `cli/api_server.py`. Beyond ADK: `/health` is 503 while the server drains,
# `/version` adds `adkPrism`. ADK's internal apps (`__…`) do not exist here.

# ---------------------------------------------------------------------------
# What ADK's server says of an app.


def describe_app(name: str, app: ServedApp) -> AppInfo:
    """Return what `/list-apps?detailed=true` says of an app."""
    tools = getattr(app.root, "tools", ())
    return AppInfo(
        name=name,
        root_agent_name=app.root_name,
        description=app.description,
        language=_language(app.root),
        is_computer_use=any(isinstance(tool, ComputerUseToolset) for tool in tools),
    )


def folder_of(root: BaseNode | None) -> Path | None:
    """Return the folder of an app; None for a Runner that was built in Python, and for code elsewhere."""
    return origin_folder(root) if root is not None else None


def _language(root: BaseNode | None) -> Literal["yaml", "python"]:
    folder = folder_of(root)
    return "yaml" if folder is not None and (folder / "root_agent.yaml").is_file() else "python"


# ---------------------------------------------------------------------------


def routes(apps: Apps, lifecycle: Lifecycle) -> APIRouter:
    """Return the router of health, version and apps."""
    router = APIRouter(route_class=StrictRoute, tags=["ADK: server"])

    @router.get("/health", responses={503: {"model": Health}})
    async def health(response: Response) -> Health:
        """Tell whether the server takes new work; 503 while it goes down."""
        if lifecycle.draining:
            response.status_code = 503
            return Health(status="draining")
        return Health(status="ok")

    @router.get("/version")
    async def version() -> Version:
        """Return the versions of ADK, Python and adk-prism."""
        return Version(
            version=adk_version.__version__,
            language_version=".".join(str(part) for part in sys.version_info[:3]),
            adkPrism=VERSION,
        )

    @router.get("/list-apps")
    async def list_apps(detailed: bool = Query(False)) -> list[str] | AppList:
        """Return the apps' names; with `detailed` what each is, which imports all of them.

        Those that fail are left out of the details.
        """
        names = await asyncio.to_thread(apps.names)
        if not detailed:
            return names
        return AppList(apps=[info for name in names if (info := await _info(name))])

    async def _info(name: str) -> AppInfo | None:
        try:
            return describe_app(name, await apps.open(name))
        except SourceError:  # Reported when it was opened.
            return None

    return router
