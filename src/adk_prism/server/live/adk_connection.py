"""An ADK client's live conversation: `WS /run_live`, with the same recorded runs as `WS /api/live/{app}`.

Follows google-adk 2.13 `cli/api_server.py` (`run_agent_live`): the run starts with the connection; the client
sends `LiveRequest`s and is sent events. Deliberate differences:
- the run is recorded, and continues for the grace period after its client is gone; a client that reconnects
  in time continues it;
- a tool that needs an approval asks for it and waits; ADK refuses it without asking;
- an invalid request is answered by an event with `errorCode`, and ends nothing; ADK stops reading silently;
- session resumption handles are not sent: only the server uses them.

Close codes are ADK's (1002 no such session, 1011 the run failed) and those of `connection`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import msgspec
from google.adk.agents.live_request_queue import LiveRequest
from google.genai import types
from msgspec import Raw
from starlette.websockets import WebSocket

from adk_prism.errors import PrismError, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.pipeline.audit_actions import WriteAudit
from adk_prism.pipeline.live_runs import LiveRun, LiveRuns
from adk_prism.projection.contract import FrameReader
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import BEGINNING, ApprovalAsked, Entry, Position, RunStarted, to_raw
from adk_prism.server.client_state import ClientState
from adk_prism.server.live.adk_frames import AdkEvents, check_blob, read_live_request
from adk_prism.server.live.connection import ConnectRequest, LiveConnection
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.server.websocket.connection import TOO_MANY_MESSAGES
from adk_prism.server.websocket.send_queue import Closing
from adk_prism.source.denial_reason import REASON
from adk_prism.source.live.audio_log import PcmChunk
from adk_prism.source.live.pending_questions import ApprovalDecision, ClientToolResult
from adk_prism.source.sessions import Sessions

MAX_REASON_BYTES = 120
"""A close frame has room for 123."""

NO_SESSION = Closing(1002, "Session not found")


class AdkLiveConnection(LiveConnection):
    """One client's connection to a live run, with ADK's frames."""

    def __init__(
        self,
        socket: WebSocket,
        request: ConnectRequest,
        live: LiveRuns,
        log: RunLog,
        note: WriteAudit,
        *,
        sessions: Sessions,
        state: ClientState,
    ) -> None:
        super().__init__(socket, request, live, log, note)
        self._sessions = sessions
        self._state = state
        self._events = AdkEvents("", request.app)

    # ------------------------------------------------------------------ the connection

    async def _rejoin(self) -> None:
        """Join at once: with ADK the run starts with the connection."""
        try:
            await self._join(self._request.session)
        except PrismError as error:
            reason = error.detail.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
            self._out.close(Closing(1008, reason))

    async def _join(self, session: str) -> None:
        origin = self._origin(session)
        if not await self._sessions.exists(origin):
            self._out.close(NO_SESSION)
            return
        is_new = not self._live.is_running(origin)
        run = await self._connect(origin)
        # A client that reconnects is sent what comes next: ADK's events have no positions.
        after = BEGINNING if is_new else Position((await self._log.summary(run.id)).cursor)
        self._start_stream(run, after)

    # ------------------------------------------------------------------ to the client

    async def _send_frames(self, run: LiveRun, after: Position) -> None:
        reader = self._request.format.reader()
        async with aclosing(self._log.read(run.id, follow=True)) as batches:
            async for batch in batches:
                for entry in batch:
                    for event in self._events_of(entry, reader):
                        if entry.cursor > after.cursor:
                            await self._out.put(event)

    def _events_of(self, entry: Entry, reader: FrameReader) -> list[str]:
        record = entry.record
        if isinstance(record, RunStarted):
            author = record.agents[0].name if record.agents else record.origin.app
            self._events = AdkEvents(record.invocation, author)
        if isinstance(record, ApprovalAsked):
            return [self._events.question(record)]
        events = [payload.data for payload in reader.feed(entry)]
        return [event.decode() for event in events if self._events.is_sent(event)]

    def _play(self, audio: PcmChunk) -> None:
        if self._stream is not None:
            self._out.put_audio(self._events.audio(audio))

    async def _send_error(self, error: PrismError) -> None:
        await self._out.put(self._events.error(error))

    # ------------------------------------------------------------------ from the client

    async def _handle(self, message: Any) -> Closing | None:
        text = message.get("text")
        request = read_live_request(message["bytes"] if text is None else text)
        # A blob is bounded by the queue of the model's connection.
        if request.blob is None and self._is_too_fast():
            return TOO_MANY_MESSAGES
        if self._live_run is not None:
            await self._do(self._live_run, request)
        return None

    async def _do(self, run: LiveRun, request: LiveRequest) -> None:
        """Do what a request says: like ADK, the first of these, and the state in any case."""
        if request.close:
            run.end()
            return
        if request.state_delta:
            await self._state.check(run.origin.app, request.state_delta)
            await run.source.change_state(request.state_delta)
        if request.activity_start is not None:
            run.source.signal_activity(starts=True)
        elif request.activity_end is not None:
            run.source.signal_activity(starts=False)
        elif request.audio_stream_end:
            run.source.end_audio()
        elif request.blob is not None:
            blob = request.blob
            self._send_to_model(run, *check_blob(blob.data or b"", blob.mime_type or ""))
        elif request.content is not None:
            await self._send_content(run, request.content, request.partial)
        elif not request.state_delta:
            raise Unprocessable("The request must contain content, a blob or a signal.")

    async def _send_content(self, run: LiveRun, content: types.Content, partial: bool) -> None:
        parts = content.parts or []
        responses = [part.function_response for part in parts if part.function_response]
        if not responses:
            await run.source.say(content, partial=partial)
            return
        if len(responses) != len(parts):
            raise Unprocessable("A message must hold either text or function responses, not both.")
        for response in responses:
            await self._take_response(run, response)

    async def _take_response(self, run: LiveRun, response: types.FunctionResponse) -> None:
        given = response.response or {}
        if response.name != CONFIRMATION:
            run.source.questions.give_result_by_adk_id(
                response.id or "", ClientToolResult(_raw(given))
            )
            return
        payload = given.get("payload")
        reason = payload.get(REASON) if isinstance(payload, dict) else None
        said = reason if isinstance(reason, str) else ""
        decision = ApprovalDecision(given.get("confirmed") is True, said, called_by())
        await self._decide(run, response.id or "", decision)


def _raw(value: Any) -> Raw:
    try:
        return to_raw(value)
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise Unprocessable("The function response cannot be written as JSON.") from None
