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

import base64
import re
import time
from contextlib import aclosing
from typing import Annotated, Any, Literal
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Query, WebSocket
from google.adk.agents.live_request_queue import LiveRequest
from google.genai import types
from msgspec import Raw, structs
from pydantic import ValidationError

from adk_prism.adk.apps import Apps
from adk_prism.adk.tools import REASON
from adk_prism.errors import PrismError, TooLarge, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION, FunctionCall, Part, read_event
from adk_prism.log import entry as records
from adk_prism.log.private_files import Recent
from adk_prism.protocols.adk import SPEC
from adk_prism.protocols.contract import FrameReader
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import acting_user, caller_of
from adk_prism.server.request_bodies import check_app, check_frame, check_session, check_user
from adk_prism.server.run_streams import TOO_MANY_MESSAGES, Closing, encode
from adk_prism.voice.conversation import PcmChunk
from adk_prism.voice.run_context import ClientToolResult, LiveOptions
from adk_prism.voice.socket import ConnectRequest, LiveConnection, check_audio
from adk_prism.voice.source import LiveRun

# ---------------------------------------------------------------------------
# The frames of `WS /run_live`: the client sends ADK's `LiveRequest`s, and is sent ADK's events.
#
# Follows google-adk 2.13 `cli/api_server.py` and `live/live_request_queue.py`. Decides which events
# of the log an ADK client is sent: not its own text, which ADK does not repeat; not the audio of the
# log, which was sent chunk by chunk; and, beyond ADK, the request for an approval, in the form that
# ADK gives it in other runs.

MAX_IMAGE_BYTES = 1024 * 1024
"""Bytes of one camera frame, of which a client sends one or two a second."""

_AUDIO = re.compile(r"audio/pcm(;\s?rate=\d{4,6})?")
_OTHER = re.compile(r"(audio|image|video)/[\w.+-]{1,40}")

_NO_ACTIONS: dict[str, dict[str, str]] = {
    "stateDelta": {},
    "artifactDelta": {},
    "requestedAuthConfigs": {},
    "requestedToolConfirmations": {},
}


# --------------------------------------------------------------------------- from the client


def read_live_request(text: str | bytes) -> LiveRequest:
    """Read a client's request. Raise `UsageError`."""
    check_frame(text)
    try:
        return LiveRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise Unprocessable(f"{where[:80]}: {str(first['msg'])[:200]}") from None
    except (AttributeError, TypeError, LookupError, ArithmeticError):
        # Validators of google-genai fail on input that they do not expect.
        raise Unprocessable("The request must be an ADK LiveRequest.") from None


def check_blob(data: bytes, media_type: str) -> tuple[bytes, str]:
    """Return a blob that can be sent to the model, and its type. Raise `UsageError`."""
    if _AUDIO.fullmatch(media_type):
        return check_audio(data), media_type
    if _OTHER.fullmatch(media_type) is None:
        raise Unprocessable(
            f"The blob's type must be audio, image or video, got {media_type[:60]!r}."
        )
    if not data:
        raise Unprocessable("The blob has no data.")
    if len(data) > MAX_IMAGE_BYTES:
        raise TooLarge(f"The blob has {len(data)} bytes; at most {MAX_IMAGE_BYTES} are allowed.")
    return data, media_type


# --------------------------------------------------------------------------- to the client


class AdkEvents:
    """Decides which events of a live run its client is sent, and makes those that the log does not have."""

    def __init__(self, invocation: str, author: str) -> None:
        self._invocation = invocation
        self._author = author
        """The agent of the last event."""
        self._calls: Recent[str, FunctionCall] = Recent(MAX_CALLS)
        """Calls of the last events, by id: an approval is asked right after its call."""

    def is_sent(self, event: bytes) -> bool:
        """Return whether the client is sent an event of the log."""
        read = read_event(event)
        if read.author == "user":
            return read.content is None and read.input_transcription is not None
        self._author = read.author or self._author
        parts = (read.content.parts if read.content is not None else None) or []
        made = (part.function_call for part in parts if part.function_call is not None)
        for call in made:
            self._calls[call.id or ""] = call
        return not parts or not all(map(_is_audio, parts))

    def audio(self, chunk: PcmChunk) -> str:
        """Return a chunk of the agent's audio as an event."""
        data = base64.urlsafe_b64encode(chunk.pcm).decode()  # as pydantic writes bytes
        blob = {"inlineData": {"data": data, "mimeType": chunk.media_type}}
        return self._event({"content": {"role": "model", "parts": [blob]}})

    def question(self, asked: records.ApprovalAsked) -> str:
        """Return the request for an approval, as ADK makes it in other runs."""
        call = self._calls.get(asked.call, FunctionCall(id=asked.call, name=asked.name))
        given = {} if records.is_absent(call.args) else call.args
        args = {
            "originalFunctionCall": {"id": call.id, "name": call.name, "args": given},
            "toolConfirmation": {"hint": asked.hint, "confirmed": False},
        }
        question = {"functionCall": {"id": asked.approval, "name": CONFIRMATION, "args": args}}
        content = {"role": "user", "parts": [question]}
        return self._event({"content": content, "longRunningToolIds": [asked.approval]})

    def error(self, error: PrismError) -> str:
        """Return the error of an invalid request as an event."""
        return self._event({"errorCode": error.kind, "errorMessage": error.detail})

    def _event(self, fields: dict[str, Any]) -> str:
        event = {
            **fields,
            "invocationId": self._invocation,
            "author": self._author,
            "actions": _NO_ACTIONS,
            "id": str(uuid4()),
            "timestamp": time.time(),
        }
        return encode(event)


MAX_CALLS = 256
"""Calls that are remembered: more than a model makes at once."""


def _is_audio(part: Part) -> bool:
    blob = part.inline_data
    return blob is not None and (blob.mime_type or "").startswith("audio/pcm")


# ---------------------------------------------------------------------------

MAX_REASON_BYTES = 120
"""A close frame has room for 123."""

NO_SESSION = Closing(1002, "Session not found")


class AdkLiveConnection(LiveConnection):
    """One client's connection to a live run, with ADK's frames."""

    def __init__(self, socket: WebSocket, request: ConnectRequest, context: Context) -> None:
        super().__init__(socket, request, context)
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
        if not await self._context.apps.sessions(origin.app).exists(origin):
            self._out.close(NO_SESSION)
            return
        is_new = not self._live.is_running(origin)
        run = await self._connect(origin)
        # A client that reconnects is sent what comes next: ADK's events have no positions.
        after = (
            records.BEGINNING
            if is_new
            else records.Position((await self._log.summary(run.id)).cursor)
        )
        self._start_stream(run, after)

    # ------------------------------------------------------------------ to the client

    async def _send_frames(self, run: LiveRun, after: records.Position) -> None:
        reader = self._request.format.reader()
        async with aclosing(self._log.read(run.id, follow=True)) as batches:
            async for batch in batches:
                for entry in batch:
                    for event in self._events_of(entry, reader):
                        if entry.cursor > after.cursor:
                            await self._out.put(event)

    def _events_of(self, entry: records.Entry, reader: FrameReader) -> list[str]:
        record = entry.record
        if isinstance(record, records.RunStarted):
            author = record.agents[0].name if record.agents else record.origin.app
            self._events = AdkEvents(record.invocation, author)
        if isinstance(record, records.ApprovalAsked):
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
            await self._context.starter.client_state.check(run.origin.app, request.state_delta)
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
        approval, is_approved = response.id or "", given.get("confirmed") is True
        await self._decide(
            run, records.Decision(approval=approval, approved=is_approved, reason=said)
        )


def _raw(value: Any) -> Raw:
    try:
        return records.to_raw(value)
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise Unprocessable("The function response cannot be written as JSON.") from None


# ---------------------------------------------------------------------------
# The route.
#
# Follows google-adk 2.13 `cli/api_server.py`, with its query parameters. Video answers (an avatar)
# are refused; `app_name` is optional where there is one app.

Modality = Literal["TEXT", "AUDIO", "VIDEO"]


def routes(context: Context) -> APIRouter:
    """Return the router of ADK's live conversations."""
    router = APIRouter()
    apps = context.apps

    @router.websocket("/run_live")
    async def run_live(
        socket: WebSocket,
        user_id: str,
        session_id: str,
        app_name: str = "",
        modalities: Annotated[list[Modality] | None, Query()] = None,
        proactive_audio: bool | None = None,
        enable_affective_dialog: bool | None = None,
        enable_session_resumption: bool | None = None,
        save_live_blob: bool = False,
        explicit_vad_signal: bool | None = None,
    ) -> None:
        context.lifecycle.check_open()
        user = acting_user(caller_of(socket), check_user(user_id))
        app = check_app(app_name or _only_app(apps))
        (await apps.open(app)).check("live")
        options = structs.replace(
            _with_modality(context.live.options, modalities or ["AUDIO"]),
            proactive=proactive_audio,
            affective=enable_affective_dialog,
            explicit_activity=explicit_vad_signal,
            transparent=enable_session_resumption,
            save_audio=save_live_blob,
        )
        request = ConnectRequest(
            app=app,
            user=user,
            session=check_session(session_id),
            options=options,
            format=SPEC.format(complete=context.errors.completion(socket.scope)),
        )
        await socket.accept()
        await AdkLiveConnection(socket, request, context).serve()

    return router


def _only_app(apps: Apps) -> str:
    names = apps.names()
    if len(names) != 1:
        raise Unprocessable("`app_name` is required: this server has more than one app.")
    return names[0]


def _with_modality(options: LiveOptions, modalities: list[Modality]) -> LiveOptions:
    if "VIDEO" in modalities:
        raise Unprocessable("`modalities` VIDEO is not supported; use AUDIO or TEXT.")
    return structs.replace(options, modality="audio" if "AUDIO" in modalities else "text")
