"""One ADK client's conversation with a live agent: `WS /run_live`, over the same recorded runs as ours.

Follows google-adk 2.13 `cli/api_server.py` (`run_agent_live`): the run begins with the connection; each
message up is a `LiveRequest`, each one down an event. Differences, on purpose:
- the run is recorded, and survives its client for the grace period; who comes back in time goes on with it;
- a tool that needs an approval asks for it, and waits; ADK refuses it without asking;
- a mistake is an event with `errorCode`, and ends nothing; ADK stops to listen without a word;
- handles to resume the model's connection are not sent: they are the server's to use.

Closed is with ADK's codes (1002 no such session, 1011 the run failed) and those of `talk`.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec
from google.adk.agents.live_request_queue import LiveRequest
from google.genai import types
from msgspec import Raw
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.errors import Conflict, PrismError, Unprocessable, UsageError
from adk_prism.pipeline.live_runs import LiveRun
from adk_prism.projection.contract import FrameReader
from adk_prism.runlog.entry import (
    BEGINNING,
    ApprovalAsked,
    Entry,
    Position,
    RunStarted,
    to_raw,
)
from adk_prism.server.client_state import check_state
from adk_prism.server.context import Context
from adk_prism.server.live.adk_frames import AdkEvents, check_blob, read_live_request
from adk_prism.server.live.connection import BUSY, MAX_ERRORS, ConnectRequest, LiveConnection
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.source.denial_reason import REASON
from adk_prism.source.live.audio_log import PcmChunk
from adk_prism.source.live.pending_questions import ApprovalDecision, ClientToolResult
from adk_prism.source.request import CONFIRMATION

MAX_REASON_BYTES = 120
"""Bytes of a close frame's reason: the protocol has room for 123."""

NO_SESSION = (1002, "Session not found")


class AdkLiveConnection(LiveConnection):
    """One socket's conversation, in ADK's frames."""

    def __init__(self, socket: WebSocket, request: ConnectRequest, context: Context) -> None:
        super().__init__(socket, request, context.live, context.log, context.audit.note)
        self._context = context
        self._events = AdkEvents("", request.app)

    # ------------------------------------------------------------------ the connection

    async def _listen(self) -> None:
        try:
            await self._join(self._request.session)
        except PrismError as error:
            self._out.close(1008, error.detail.encode()[:MAX_REASON_BYTES].decode(errors="ignore"))
            return
        await super()._listen()

    async def _rejoin(self) -> None:
        """Do nothing: it is on the line already."""

    async def _join(self, session: str) -> None:
        origin = self._origin(session)
        if not await self._context.apps.sessions(origin.app).exists(origin):
            self._out.close(*NO_SESSION)
            return
        is_new = not self._live.is_running(origin)
        try:
            line = await self._live.join(origin, self._request.options, self._leave, self._play)
        except Conflict:
            self._out.close(BUSY, "another client is on the line")
            raise
        self._line = line
        # Who comes back goes on: ADK's events have no places to come back to.
        after = BEGINNING if is_new else Position((await self._log.summary(line.run)).cursor)
        self._sending_task = asyncio.create_task(self._tell(line, after), name=f"tell {line.run}")

    # ------------------------------------------------------------------ what the run says

    async def _tell_all(self, line: LiveRun, after: Position) -> None:
        reader = self._request.format.reader()
        async with aclosing(self._log.read(line.run, follow=True)) as batches:
            async for batch in batches:
                for entry in batch:
                    for told in self._told(entry, reader):
                        if entry.cursor > after.cursor:
                            await self._out.put(told)
        summary = await self._log.summary(line.run)
        failed = summary.outcome == "failed"
        await self._out.finish(*((1011, "the run failed") if failed else (1000, "over")))

    def _told(self, entry: Entry, reader: FrameReader) -> list[str]:
        record = entry.record
        if isinstance(record, RunStarted):
            author = record.agents[0].name if record.agents else record.origin.app
            self._events = AdkEvents(record.invocation, author)
        if isinstance(record, ApprovalAsked):
            return [self._events.question(record)]
        events = [payload.data for payload in reader.feed(entry)]
        return [event.decode() for event in events if self._events.shown(event)]

    def _play(self, sound: PcmChunk) -> None:
        if self._sending_task is not None:
            self._out.put_sound(self._events.sound(sound))

    async def _tell_error(self, error: PrismError) -> None:
        await self._out.put(self._events.error(error))

    # ------------------------------------------------------------------ what the client says

    async def _take_message(self, message: Any) -> str:
        """Take a message; return why the client is not listened to any more, if it is not."""
        data = message.get("text")
        try:
            request = read_live_request(message["bytes"] if data is None else data)
            is_heard = request.blob is not None  # which has its own bound: what waits for the model
            if not is_heard and not self._pace.allows(self._now()):
                return "too many messages"
            if self._line is not None:
                await self._do(self._line, request)
        except UsageError as error:
            self._mistakes += 1
            await self._tell_error(error)
        else:
            self._mistakes = 0
        return "" if self._mistakes < MAX_ERRORS else "nothing but mistakes"

    async def _do(self, line: LiveRun, request: LiveRequest) -> None:
        """Do what a request says: ADK takes the first of these, and the state in any case."""
        if request.close:
            line.end()
            return
        if request.state_delta:
            await check_state(
                self._context.apps,
                self._context.settings.client_state,
                line.origin.app,
                request.state_delta,
            )
            await line.source.change_state(request.state_delta)
        if request.activity_start is not None:
            line.source.signal_activity(starts=True)
        elif request.activity_end is not None:
            line.source.signal_activity(starts=False)
        elif request.audio_stream_end:
            line.source.end_audio()
        elif request.blob is not None:
            self._send_blob(line, request.blob)
        elif request.content is not None:
            await self._send_content(line, request.content, request.partial)
        elif not request.state_delta:
            raise Unprocessable("The request must contain content, a blob or a signal.")

    def _send_blob(self, line: LiveRun, blob: types.Blob) -> None:
        data, media_type = check_blob(blob.data or b"", blob.mime_type or "")
        if not line.source.send_audio(data, media_type) and self._now() - self._dropped_at > 1:
            self._dropped_at = self._now()
            raise Conflict("The model is too slow: audio was dropped.")

    async def _send_content(self, line: LiveRun, content: types.Content, partial: bool) -> None:
        parts = content.parts or []
        answers = [part.function_response for part in parts if part.function_response]
        if not answers:
            await line.source.say(content, partial=partial)
            return
        if len(answers) != len(parts):
            raise Unprocessable("A message must contain either text or function responses.")
        for answer in answers:
            await self._take_answer(line, answer)

    async def _take_answer(self, line: LiveRun, answer: types.FunctionResponse) -> None:
        given = answer.response or {}
        if answer.name != CONFIRMATION:
            line.source.give_result_by_adk_id(answer.id or "", ClientToolResult(_raw(given)))
            return
        payload = given.get("payload")
        reason = payload.get(REASON) if isinstance(payload, dict) else None
        said = reason if isinstance(reason, str) else ""
        decision = ApprovalDecision(given.get("confirmed") is True, said, called_by())
        await self._decide(line, answer.id or "", decision)


def _raw(value: Any) -> Raw:
    try:
        return to_raw(value)
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise Unprocessable("A function response is not valid.") from None


async def serve_adk_live(socket: WebSocket, request: ConnectRequest, context: Context) -> None:
    """Accept a socket and serve it."""
    await socket.accept()
    try:
        await AdkLiveConnection(socket, request, context).serve()
    except WebSocketDisconnect:
        return
