"""One socket of the AI SDK's `WebSocketChatTransport`: many requests, of any number of chats.

Each request is a task of its own. It is a viewer: the run belongs to the server, and a socket that closes
stops nothing. What fails is told to the one request that it concerns. When the server goes down the socket is
closed with 1012, which the client takes for a lost connection, and comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import json
from starlette.websockets import WebSocket

from adk_prism.diagnostics import Diagnostic, cause_of, new_correlation
from adk_prism.errors import PrismError, Unprocessable, UsageError
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.message_stream import Shown, running, scope_of, told
from adk_prism.pipeline.positioned_frames import PositionedFrame, positioned_frames
from adk_prism.projection.ai_sdk import SPEC
from adk_prism.projection.ai_sdk.requests import read_request
from adk_prism.projection.contract import Format
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.server.chat_socket import frames
from adk_prism.server.chat_socket.frames import Abort, ChatFrame, Resume, Send
from adk_prism.server.context import Context
from adk_prism.server.guards.name_rules import check_session, check_user
from adk_prism.server.identity.caller import caller_of, spoken_user
from adk_prism.server.live.rate_limit import MessageRateLimit
from adk_prism.server.live.send_queue import SendQueue
from adk_prism.server.run_starter import Sent
from adk_prism.source.error_text import message_of

MAX_REQUESTS = 32
"""Of one socket at a time: more chats than a person can look at."""

DONE = b"[DONE]"

GOES_DOWN = (1012, "the server goes down")
"""Code and reason of a close."""


class _OpenRequest:
    """A request that is being answered."""

    __slots__ = ("is_aborted", "shows", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.shows = False
        """It is past the start of a run, which must not be cut short."""
        self.is_aborted = False


class ChatConnection:
    """What is said on one socket."""

    def __init__(self, socket: WebSocket, context: Context, app: str, format: Format) -> None:
        self._socket = socket
        self._context = context
        self._app = app
        self._format = format
        self._out = SendQueue(socket)
        self._pace = MessageRateLimit(asyncio.get_running_loop().time())
        self._requests: dict[str, _OpenRequest] = {}
        self._goes_when_idle = False
        self._going: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Close the socket because the server goes down; its client comes back."""
        self._out.close(*GOES_DOWN)

    def close_when_idle(self) -> None:
        """Close it when the last request has been answered, and all of the answer is sent."""
        self._goes_when_idle = True
        self._go_if_idle()

    def _go_if_idle(self) -> None:
        if self._goes_when_idle and not self._requests and self._going is None:
            self._going = asyncio.create_task(self._out.finish(*GOES_DOWN), name="chat close")

    async def serve(self) -> None:
        """Answer until either side closes; the runs go on."""
        listening = asyncio.create_task(self._listen(), name="chat listen")
        sending = asyncio.create_task(self._out.run(), name="chat send")
        forget = self._context.sockets.hold(self)
        try:
            await asyncio.wait({listening, sending}, return_when=asyncio.FIRST_COMPLETED)
            await self._out.wait_closed(sending)
        finally:
            forget()
            answering = [r.task for r in self._requests.values() if r.task is not None]
            going = [] if self._going is None else [self._going]
            tasks = {listening, sending, *answering, *going}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not listening.cancelled() and (error := listening.exception()) is not None:
            raise error

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if not self._pace.allows(loop.time()):
                self._out.close(1008, "too many messages")
                return
            text = message.get("text") or message.get("bytes") or b""
            try:
                self._take(frames.read_frame(text))
            except UsageError as error:
                request = frames.request_of(text)
                if not request:
                    # The client would give all its requests up for an error that names none.
                    self._out.close(1007, "not a frame of the chat transport")
                    return
                await self._out.put(frames.failed(request, error.detail))

    def _take(self, frame: ChatFrame) -> None:
        if isinstance(frame, Abort):
            self._abort(frame.request_id)
            return
        if frame.request_id in self._requests:
            raise Unprocessable(f"Request {frame.request_id!r} is already being answered.")
        if len(self._requests) >= MAX_REQUESTS:
            raise Unprocessable(
                f"{MAX_REQUESTS} requests are open on this socket, the limit; wait for one to finish."
            )
        request = self._requests[frame.request_id] = _OpenRequest()
        request.task = asyncio.create_task(self._answer(frame, request))
        request.task.add_done_callback(lambda _: self._forget(frame.request_id))

    def _forget(self, name: str) -> None:
        self._requests.pop(name, None)
        self._go_if_idle()

    def _abort(self, name: str) -> None:
        """Let a request go. One whose run is yet to begin stops it as soon as it has."""
        request = self._requests.get(name)
        if request is None or request.task is None:
            return  # it is over
        request.is_aborted = True
        if request.shows:
            request.task.cancel()

    # ------------------------------------------------------------------ answering

    async def _answer(self, frame: Send | Resume, request: _OpenRequest) -> None:
        name = frame.request_id
        try:
            if isinstance(frame, Send):
                await self._send(frame, request)
            else:
                await self._resume(frame, request)
        except PrismError as error:
            await self._fail(name, error.detail)
        except Exception as error:  # the edge: the client is told, and the operator why
            correlation = new_correlation()
            report = self._context.report
            report(
                Diagnostic(
                    kind="request failed",
                    correlation=correlation,
                    cause=cause_of(error),
                    message=message_of(error),
                )
            )
            text = f"The server failed to answer. Reference: {correlation}."
            await self._fail(name, text)

    async def _fail(self, name: str, text: str) -> None:
        full = self._context.errors.text(self._socket.scope, text)
        await self._out.put(frames.failed(name, full))

    async def _send(self, frame: Send, request: _OpenRequest) -> None:
        run = await self._start(frame)
        try:
            if not request.is_aborted:
                request.shows = True
                await self._show(frame.request_id, self._of_run(run))
        finally:
            if request.is_aborted:
                summary = await self._context.runs.cancel(run)
                deed = AuditedAction(action="run cancelled", origin=summary.origin, run=run)
                await self._context.audit.note(deed)

    async def _resume(self, frame: Resume, request: _OpenRequest) -> None:
        request.shows = True
        place = await self._running(frame)
        if place is None:
            await self._out.put(frames.nothing_runs(frame.request_id))
        else:
            await self._show(frame.request_id, self._of_turn(place))

    async def _start(self, frame: Send) -> RunId:
        body = frame.chat_body()
        sent = Sent(
            caller=caller_of(self._socket),
            key=frame.headers.get("idempotency-key", ""),
            body=json.encode(body),
            base=self._format.options.files.base,
        )
        return await self._context.starter.start(SPEC, self._app, read_request(body), sent)

    def _origin(self, user: str, chat: str) -> Origin:
        acting = spoken_user(caller_of(self._socket), check_user(user))
        return Origin(app=self._app, user=acting, session=check_session(chat))

    async def _running(self, frame: Resume) -> Shown | None:
        user = (frame.body or {}).get("userId", "user")
        if not isinstance(user, str):
            raise Unprocessable("`userId` must be a string.")
        turns = await self._context.chats.turns(self._origin(user, frame.id))
        return running(turns)

    def _of_run(self, run: RunId) -> AsyncGenerator[PositionedFrame, None]:
        return positioned_frames(self._context.log, run, self._format)

    async def _of_turn(self, place: Shown) -> AsyncGenerator[PositionedFrame, None]:
        place = told(place)
        for index, run in enumerate(place.turn.runs):
            part = self._format.of_part(scope_of(place, index))
            showing = positioned_frames(self._context.log, run.summary.run, part)
            async with aclosing(showing):
                async for placed in showing:
                    yield placed

    async def _show(self, name: str, showing: AsyncGenerator[PositionedFrame, None]) -> None:
        await self._out.put(frames.started(name))
        sequence = 0
        async with aclosing(showing):
            async for _, payload in showing:
                if payload.data != DONE:
                    await self._out.put(frames.chunk(name, sequence, payload.data))
                    sequence += 1
        await self._out.put(frames.ended(name))
