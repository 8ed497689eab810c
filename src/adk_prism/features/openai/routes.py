"""The routes of OpenAI's API below `/v1`.

A stateless client stops an answer by closing the connection, since the API has no other way: that stops the
run of a chat completion. A response goes on, in the background or not: `GET /v1/responses/{id}?stream=true`
comes back to it, `POST …/cancel` stops it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse

from adk_prism.commands import ClientRequest
from adk_prism.errors import BadPosition, NotFound, UsageError
from adk_prism.features.openai import chat, responses
from adk_prism.features.openai.matching import Conversations
from adk_prism.features.openai.requests import Asked, read_chat, read_responses
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import BEGINNING, Origin, RunId
from adk_prism.protocols.contract import Format, Json, ProtocolSpec
from adk_prism.runs.broadcast import positioned_frames
from adk_prism.runs.chats import Turn
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Principal, caller_of, spoken_user
from adk_prism.server.identity.identity import LARGEST_NUMBER, check_run
from adk_prism.server.problems import FORMS, Problem
from adk_prism.server.request_bodies import StrictRoute, check_session, check_user
from adk_prism.server.run_starter import Key, Sent
from adk_prism.server.run_streams import RUN_HEADER, base_url

LARGE_BODIES = ("/v1/chat/completions", "/v1/responses")
"""Clients repeat their whole history, with its files."""

CHAT_ID_HEADER = "x-openwebui-chat-id"
USER_ID_HEADER = "x-openwebui-user-id"
"""What Open WebUI names its conversation and its user in, where it is told to forward them."""

IGNORED_HEADER = "x-prism-ignored"
CREATED = 1700000000
"""When an app was made nobody knows, and the API wants a time."""

_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "object"}}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Anything but a success is OpenAI's `error` object",
        "content": {"application/json": {"schema": _ERROR}},
    }
}
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def _as_openai(problem: Problem) -> bytes:
    """Return a problem as OpenAI's clients read it."""
    kind = _KINDS.get(problem.status, "invalid_request_error")
    kind = "server_error" if problem.status >= 500 else kind
    text = problem.detail if isinstance(problem.detail, str) else problem.title
    if problem.correlation and problem.correlation not in text:
        text = f"{text} Reference: {problem.correlation}."
    code = problem.type.rpartition(":")[2].replace("-", "_")
    return msgspec.json.encode({"error": chat.error_json(text, code, kind)})


FORMS["/v1"] = _as_openai


def router(context: Context, shown: str) -> APIRouter:
    """Return the router of the API; `shown` is the dialect of chat completions."""
    return OpenAiRoutes(context, Conversations(context), shown).router()


@dataclass(frozen=True, slots=True)
class OpenAiRoutes:
    """The routes, made of the parts of a server."""

    context: Context
    conversations: Conversations
    shown: str
    stopping: set[asyncio.Task[Any]] = field(default_factory=set)
    """What stops runs whose clients have gone; kept here, since the loop does not keep tasks."""

    def router(self) -> APIRouter:
        """Return the router of these routes."""
        router = APIRouter(
            prefix="/v1", route_class=StrictRoute, tags=["OpenAI"], responses=_RESPONSES
        )
        router.get("/models")(self.models)
        router.get("/models/{model}")(self.model)
        router.post("/chat/completions", response_class=Response)(self.chat_completion)
        router.post("/responses", response_class=Response)(self.create_response)
        router.get("/responses/{response}", response_class=Response)(self.get_response)
        router.post("/responses/{response}/cancel", response_class=Response)(self.cancel_response)
        router.get("/responses/{response}/input_items")(self.input_items)
        router.post("/conversations")(self.create_conversation)
        router.get("/conversations/{conversation}")(self.get_conversation)
        router.get("/conversations/{conversation}/items")(self.conversation_items)
        return router

    # -------------------------------------------------------------- models

    async def models(self) -> Json:
        """Return the apps as models."""
        return {"object": "list", "data": [_model(name) for name in self.context.apps.names()]}

    async def model(self, model: str) -> Json:
        """Return one app."""
        return _model(self._app(model))

    def _app(self, model: str) -> str:
        if model not in self.context.apps.names():
            names = ", ".join(self.context.apps.names()[:20])
            raise NotFound(f"There is no model {model[:60]!r}; the models are the apps: {names}.")
        return model

    # -------------------------------------------------------------- chat completions

    async def chat_completion(
        self,
        request: Request,
        body: dict[str, Any],
        key: Key = "",
        chat_id: Annotated[str, Header(alias=CHAT_ID_HEADER)] = "",
        user_id: Annotated[str, Header(alias=USER_ID_HEADER)] = "",
    ) -> Response:
        """Answer a list of messages, as a stream of chunks or as one object."""
        asked = read_chat(body, chat_id, user_id)
        run = await self._start(request, chat.SPEC, asked, key)
        format = self.context.streams.format(request, chat.SPEC, self.shown)
        if asked.streams:
            started = await self.context.streams.start(run, format, on_left=self._stopping(run))
            return _named(started, asked)
        frames = [frame async for frame in self._frames(run, format)]
        failed = next((frame for frame in frames if "error" in frame), None)
        if failed is not None:
            return _named(JSONResponse(failed, 500, {RUN_HEADER: run}), asked)
        return _named(JSONResponse(chat.completion(frames), headers={RUN_HEADER: run}), asked)

    def _stopping(self, run: RunId) -> Any:
        """Return what stops a run whose client has gone."""

        def stop() -> None:
            task = asyncio.create_task(self.context.runs.canceller.cancel(run))
            self.stopping.add(task)
            task.add_done_callback(self.stopping.discard)

        return stop

    async def _frames(self, run: RunId, format: Format) -> AsyncGenerator[Json, None]:
        """Yield the frames of a run, until it is over."""
        async with aclosing(positioned_frames(self.context.log, run, format)) as frames:
            async for placed in frames:
                if placed.payload.data != b"[DONE]":
                    yield msgspec.json.decode(placed.payload.data)

    async def _start(
        self, request: Request, spec: ProtocolSpec[Any], asked: Asked, key: str
    ) -> RunId:
        app, caller = self._app(asked.model), caller_of(request)
        # `user` is the client's own note of its user: it never names another caller's.
        if isinstance(caller, Principal) and not caller.admin:
            user = caller.user
        else:
            user = spoken_user(caller, check_user(asked.user))
        await self.context.apps.open(app)
        place = await self.conversations.find(app, user, asked, key)
        origin = Origin(app=app, user=user, session=check_session(place.session))
        wanted = ClientRequest(
            command=await self.conversations.command(origin, place, asked),
            session=origin.session,
            user=user,
            tools=asked.tools,
            has_instructions=asked.has_instructions,
        )
        base = base_url(request, self.context.settings)
        sent = Sent(caller=caller, key=key, body=await request.body(), base=base)
        return await self.context.starter.start(spec, app, wanted, sent)

    # -------------------------------------------------------------- responses

    async def create_response(
        self, request: Request, body: dict[str, Any], key: Key = ""
    ) -> Response:
        """Answer an input: as a stream of events, as one object, or in the background."""
        asked = read_responses(body)
        run = await self._start(request, responses.SPEC, asked, key)
        format = self.context.streams.format(request, responses.SPEC)
        if asked.streams:
            return _named(await self.context.streams.start(run, format), asked)
        found = await self._response(run, format, waits=not asked.background)
        return _named(JSONResponse(found, headers={RUN_HEADER: run}), asked)

    async def get_response(
        self,
        request: Request,
        response: str,
        stream: bool = False,
        starting_after: Annotated[int, Query(ge=0, le=LARGEST_NUMBER)] = 0,
    ) -> Response:
        """Return a response as it is now; or stream it after an event, until it ends."""
        run = (await self._summary(request, response)).run
        format = self.context.streams.format(request, responses.SPEC)
        if not stream:
            return JSONResponse(await self._response(run, format, waits=False))
        after = responses.position_of(starting_after) if starting_after else BEGINNING
        if starting_after and after.cursor == 0:
            raise BadPosition(f"{starting_after} is not the sequence_number of an event.")
        return await self.context.streams.start(run, format, after)

    async def cancel_response(self, request: Request, response: str) -> Response:
        """Stop a response."""
        run = (await self._summary(request, response)).run
        await self.context.runs.canceller.cancel(run)
        format = self.context.streams.format(request, responses.SPEC)
        return JSONResponse(await self._response(run, format, waits=False))

    async def input_items(self, request: Request, response: str) -> Json:
        """Return what a response answers."""
        summary = await self._summary(request, response)
        head = await self.context.chats.beginning(summary.run)
        parts = msgspec.json.decode(head.message)["parts"] if bytes(head.message) else []
        return _listed([_input_item(f"msg_{summary.run}_user", parts)])

    async def _summary(self, request: Request, response: str) -> RunSummary:
        run = RunId(response.removeprefix(responses.PREFIX))
        return await check_run(self.context.log, caller_of(request), run)

    async def _response(self, run: RunId, format: Format, *, waits: bool) -> Json:
        """Return a response: when it is over, or as far as it has come."""
        reader, found = format.reader(), dict[str, Any]()
        items: dict[int, Json] = {}
        async with aclosing(self._entries(run, waits)) as entries:
            async for entry in entries:
                for payload in reader.feed(entry):
                    event = msgspec.json.decode(payload.data)
                    if "item" in event:
                        items[event["output_index"]] = event["item"]
                    found = event.get("response") or found
        is_over = found.get("status") != "in_progress"
        return found if is_over else {**found, "output": [items[i] for i in sorted(items)]}

    async def _entries(self, run: RunId, waits: bool) -> AsyncGenerator[Any, None]:
        async with aclosing(self.context.log.read(run, follow=waits)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry

    # -------------------------------------------------------------- conversations

    async def create_conversation(self, body: dict[str, Any] | None = None) -> Json:
        """Return a new name for a conversation; its session is made with the first response."""
        if body is not None and body.get("items"):
            raise UsageError("A conversation cannot begin with items; send them as `input`.")
        return _conversation(f"conv_{uuid4().hex}", CREATED)

    async def get_conversation(self, request: Request, conversation: str) -> Json:
        """Return a conversation."""
        turns = await self._turns(request, conversation)
        return _conversation(
            conversation, int(turns[0].first.summary.started) if turns else CREATED
        )

    async def conversation_items(self, request: Request, conversation: str) -> Json:
        """Return what was said in a conversation."""
        format = self.context.streams.format(request, responses.SPEC)
        items: list[Json] = []
        for turn in await self._turns(request, conversation):
            head = turn.first.head
            parts = msgspec.json.decode(head.message)["parts"] if bytes(head.message) else []
            items.append(_input_item(f"msg_{head.run}_user", parts))
            for run in turn.runs:
                items += (await self._response(run.summary.run, format, waits=False))["output"]
        return _listed(items)

    async def _turns(self, request: Request, conversation: str) -> list[Turn]:
        caller = caller_of(request)
        user = caller.user if isinstance(caller, Principal) and not caller.admin else ""
        runs = await self.context.log.list(user=user, session=check_session(conversation))
        if not runs:
            raise NotFound(f"There is no conversation {conversation[:60]!r} with a response.")
        return await self.context.chats.turns(runs[-1].origin)


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "adk-prism"}


def _named(response: Response, asked: Asked) -> Response:
    """Return a response that names the parameters without effect."""
    if asked.ignored:
        response.headers[IGNORED_HEADER] = ", ".join(asked.ignored)[:500]
    return response


def _input_item(name: str, parts: list[Json]) -> Json:
    content = [{"type": "input_text", "text": part["text"]} for part in parts if "text" in part]
    about = {"id": name, "type": "message", "status": "completed", "role": "user"}
    return {**about, "content": content}


def _listed(items: list[Json]) -> Json:
    ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {}
    return {"object": "list", "data": items, "has_more": False, **ends}


def _conversation(name: str, created: int) -> Json:
    return {"id": name, "object": "conversation", "created_at": created, "metadata": {}}
