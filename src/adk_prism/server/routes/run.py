"""ADK's run routes: `/run` gives a list of events, `/run_sse` a stream of them.

Follows google-adk 2.13 `cli/api_server.py`. Deliberate differences: the run survives its client; the
stream has `id:` lines, keep-alive comments and the header `x-prism-run`; an error is one event, on `/run`
too; an event is never split in two; a message without parts and a state change is a state-only update;
answers that nobody waits for are 409.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from msgspec import Raw
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from adk_prism.errors import NotFound, Unprocessable
from adk_prism.pipeline.broadcast import StreamKey
from adk_prism.pipeline.conversation import Start
from adk_prism.projection.registry import protocol
from adk_prism.runlog.entry import NOTHING, Origin, RunId, to_raw
from adk_prism.server.client_state import check_state
from adk_prism.server.context import Context
from adk_prism.server.event_stream import EventStream
from adk_prism.server.guards.name_rules import check_app, check_session, check_user
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import Caller, acting_user, caller_of
from adk_prism.server.observability.request_tracking import called_by

RUN_HEADER = "x-prism-run"
Key = Annotated[str, Header(alias="Idempotency-Key")]


class RunAgent(BaseModel):
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


def routes(context: Context) -> APIRouter:
    """Return the router of runs in ADK's own form."""
    router = APIRouter(route_class=StrictRoute, tags=["ADK: run"])
    run = _RunRoutes(context)
    router.post("/run")(run.run)
    router.post("/run_sse", response_class=Response)(run.run_sse)
    return router


class _RunRoutes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._spec = protocol("adk")

    async def run(self, request: Request, asked: RunAgent, key: Key = "") -> Response:
        """Run the agent and return all of its events."""
        run = await self._begin(request, asked, key, streaming=False)
        view = await self._context.broadcaster.open(StreamKey(run, "adk"), self._spec)
        async for _ in view.chunks():
            pass
        payload = self._context.errors.spec(request.scope, self._spec).payload
        events = [payload(frame).data async for frame in self._frames(run)]
        return Response(
            b"[" + b",".join(events) + b"]",
            media_type="application/json",
            headers={RUN_HEADER: run},
        )

    async def _frames(self, run: RunId) -> Any:
        projection = self._spec.make()
        async for entry in self._context.chats.entries(run):
            for frame in projection.feed(entry):
                yield frame

    async def run_sse(self, request: Request, asked: RunAgent, key: Key = "") -> Response:
        """Run the agent and stream its events."""
        run = await self._begin(request, asked, key, streaming=asked.streaming)
        errors = self._context.errors
        spec = errors.spec(request.scope, self._spec)
        stream = StreamKey(run, "adk", errors.variant(request.scope))
        view = await self._context.broadcaster.open(stream, spec)
        return EventStream(view, spec, self._context, {RUN_HEADER: run})

    async def _begin(
        self, request: Request, asked: RunAgent, key: str, *, streaming: bool
    ) -> RunId:
        self._context.lifecycle.check_open()
        origin = self._origin(asked, caller_of(request))
        await self._context.apps.load(origin.app)
        delta = asked.state_delta or {}
        await check_state(self._context, origin.app, delta)
        if not await self._context.apps.sessions(origin.app).exists(origin):
            raise NotFound("Session not found.")
        message, state_only = _message(asked)

        async def begin(run: RunId | None, digest: str) -> RunId:
            start = Start(
                origin=origin,
                policy=self._context.settings.adk_busy,
                by=called_by(),
                run=run,
                digest=digest,
                streaming=streaming,
                state_delta=delta,
                custom_metadata=asked.custom_metadata or {},
            )
            conversations = self._context.conversations
            if state_only:
                return await conversations.update_state(start)
            return await conversations.run_adk(start, message, asked.invocation_id or "")

        scope = f"adk {origin.app} {origin.user} {origin.session}"
        return await self._context.idempotency.once(key, scope, await request.body(), begin)

    def _origin(self, asked: RunAgent, caller: Caller) -> Origin:
        name = asked.app_name
        if not name:
            names = self._context.apps.names()
            if len(names) != 1:
                raise Unprocessable("`appName` is missing, and there is more than one app here.")
            name = names[0]
        app = check_app(name)
        user = acting_user(caller, check_user(asked.user_id))
        return Origin(app=app, user=user, session=check_session(asked.session_id))


def _message(asked: RunAgent) -> tuple[Raw, bool]:
    """Return the message's JSON, and whether the request only changes state."""
    message = asked.new_message
    has_parts = bool(message and (message.get("parts") or message.get("function_responses")))
    if has_parts:
        return to_raw(message), False
    if asked.state_delta and not asked.invocation_id:
        return NOTHING, True
    if message is not None:  # without parts: the agent runs on what the session has, as in ADK
        return to_raw(message), False
    if asked.invocation_id:
        return NOTHING, False
    raise Unprocessable(
        "`newMessage` is missing. Send a message, or `stateDelta` to change state only, or"
        " `invocationId` to resume."
    )
