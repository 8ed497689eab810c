"""A client's live conversation with an agent over one socket: `WS /api/live/{app}`.

The client sends the frames of `frames`. It is sent `{"type": "chunk", "position", "chunk"}` with the AI
SDK's chunks, and besides them `session` (which run this is), `pong` and `error`. The agent's audio is sent
at once, not from the log: as `data-pcm` chunks or, if the client asks for it, as binary messages, with an
`audio` message wherever the format changes.

The run starts with the first message or audio. An invalid message is answered by `error` and ends nothing.
The socket is closed with:

    1000   the conversation ended                1012   the server is shutting down; reconnect
    1008   too many, or only invalid messages    4001   another client took over
    1011   the run failed                        4009   another client is connected
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from contextlib import aclosing
from functools import lru_cache
from typing import Any, Literal, assert_never
from uuid import uuid4

import msgspec
from fastapi import APIRouter, WebSocket
from msgspec import Raw, Struct, field, structs

from adk_prism import errors
from adk_prism.adk.request import read_content
from adk_prism.commands import Answer, AnswerQuestions, ChangeState, Regenerate, RunAgent, Submit
from adk_prism.log.entry import BEGINNING, NOTHING, Decision, Origin, Position, parse_position
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.protocols.contract import Format
from adk_prism.runs.broadcast import check_position, positioned_frames
from adk_prism.runs.session_log import Action, AuditedAction
from adk_prism.server import run_streams as sockets
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import QueryUser
from adk_prism.server.request_bodies import LONGEST_NAME, AppName, check_frame, check_session
from adk_prism.server.request_tracking import called_by
from adk_prism.server.run_streams import SocketConnection
from adk_prism.voice.conversation import MICROPHONE_TYPE, PcmChunk
from adk_prism.voice.run_context import ClientToolResult, LiveOptions
from adk_prism.voice.source import DisconnectReason, LiveRun

# ---------------------------------------------------------------------------
# The frames that a live client sends: flat JSON objects with a `type`, and raw audio as binary messages.
#
# Unknown keys are ignored (`version` and `timestamp` among them), since clients add their own. An
# invalid frame is a `UsageError` that says what was expected; it ends nothing.

RATE = 16_000
CHANNELS = 1
BIT_DEPTH = 16

MAX_AUDIO_BYTES = 64 * 1024
"""Bytes of one chunk: two seconds. Clients send a hundredth of that."""


class Message(sockets.SocketFrame, tag="message"):
    """The user's message: the chat's messages, of which the last counts, or just a text."""

    id: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    trigger: str = "submit-message"
    message_id: str | None = None
    text: str = ""

    def body(self, chat: str) -> dict[str, Any]:
        """Return it as the body of a chat request."""
        said = [{"role": "user", "parts": [{"type": "text", "text": self.text}]}]
        return {
            "id": chat,
            "messages": self.messages or (said if self.text else []),
            "trigger": self.trigger,
            "messageId": self.message_id,
        }


class ToolResult(sockets.SocketFrame, tag="tool_result"):
    """The result of a tool that the client ran."""

    tool_call_id: str
    result: Raw = Raw(b"null")
    error_text: str = ""


class Approval(sockets.SocketFrame, tag="approval"):
    """A person's decision."""

    approval_id: str
    approved: bool
    reason: str | None = None
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""

    @property
    def decision(self) -> Decision:
        """The decision; without a payload, where that is null."""
        return Decision(
            approval=self.approval_id,
            approved=self.approved,
            reason=self.reason or "",
            payload=NOTHING if bytes(self.payload) == b"null" else self.payload,
        )


class AudioControl(sockets.SocketFrame, tag="audio_control"):
    """The microphone is switched on or off."""

    action: Literal["start", "stop"]


class AudioChunk(sockets.SocketFrame, tag="audio_chunk"):
    """A chunk of audio in base64."""

    chunk: bytes
    sample_rate: int = RATE
    channels: int = CHANNELS
    bit_depth: int = BIT_DEPTH

    def audio(self) -> bytes:
        """Return the audio. Raise `UsageError` for another format."""
        for name, given, expected in (
            ("sampleRate", self.sample_rate, RATE),
            ("channels", self.channels, CHANNELS),
            ("bitDepth", self.bit_depth, BIT_DEPTH),
        ):
            if given != expected:
                raise errors.Unprocessable(f"`{name}` must be {expected}, got {given}.")
        return check_audio(self.chunk)


class Interrupt(sockets.SocketFrame, tag="interrupt"):
    """The person interrupts the agent."""

    reason: str = "user_abort"


class Ping(sockets.SocketFrame, tag="ping"):
    """Asks for a `pong`."""

    timestamp: int | float | None = None


class Close(sockets.SocketFrame, tag="close"):
    """Ends the run."""


Command = Message | ToolResult | Approval | AudioControl | Interrupt | Ping | Close
ClientFrame = AudioChunk | Command

_decode = msgspec.json.Decoder(ClientFrame).decode
_TYPES = "message, tool_result, approval, audio_control, audio_chunk, interrupt, ping, close"


def read_frame(text: str | bytes) -> ClientFrame:
    """Read a frame. Raise `UsageError` for one that is invalid."""
    frame: ClientFrame = sockets.decode(_decode, text, _TYPES)
    if not isinstance(frame, AudioChunk):  # which is bytes and small numbers by now
        check_frame(text)
    return frame


def check_audio(pcm: bytes) -> bytes:
    """Return 16-bit audio as it is. Raise `UsageError` for what cannot be."""
    if len(pcm) > MAX_AUDIO_BYTES:
        raise errors.TooLarge(
            f"The audio chunk has {len(pcm)} bytes; at most {MAX_AUDIO_BYTES} are allowed."
        )
    if not pcm or len(pcm) % 2:
        raise errors.Unprocessable(
            f"The audio chunk has {len(pcm)} bytes; expected two per sample."
        )
    return pcm


# ---------------------------------------------------------------------------

MAX_ERRORS = 50
"""Invalid messages in a row: such a client does not read errors."""

DROP_NOTICE_INTERVAL = 1.0
"""Seconds between errors that say that audio was dropped."""

ENDED = sockets.Closing(1000, "the conversation ended")
FAILED = sockets.Closing(1011, "the run failed")
LOG_FAILED = sockets.Closing(1011, "the run log failed")
BUSY = sockets.Closing(4009, "another client is connected")
ONLY_ERRORS = sockets.Closing(1008, "only invalid messages")
DISCONNECTED: dict[DisconnectReason, sockets.Closing] = {
    "taken over": sockets.Closing(4001, "another client took over"),
    "shutdown": sockets.SHUTDOWN,
}

_PCM = b'"data-pcm"'
_RATE = re.compile(r"rate=(\d{1,7})")
_DEFAULT_RATE = 24_000


class ConnectRequest(Struct, frozen=True, kw_only=True):
    """What a client asks for when it connects."""

    app: str
    user: str
    session: str = ""
    """Empty: the chat that the first message names, or a new one."""
    format: Format
    after: str = ""
    """The position after which the client is sent the run; empty: from the start."""
    binary: bool = False
    options: LiveOptions = LiveOptions()


class LiveConnection(SocketConnection):
    """One client's connection to a live run, with AI SDK chunks."""

    def __init__(self, socket: WebSocket, request: ConnectRequest, context: Context) -> None:
        super().__init__(socket)
        self._context = context
        self._request = request
        self._live = context.live
        self._log = context.log
        self._live_run: LiveRun | None = None
        self._stream: asyncio.Task[None] | None = None
        """Sends the run."""
        self._position = BEGINNING
        self._is_microphone_on = False
        self._errors = 0
        self._audio_format = ""
        """Of the last binary audio."""
        self._drop_notice = 0.0
        """When the client was last notified that audio was dropped."""

    # ------------------------------------------------------------------ the connection

    async def serve(self) -> None:
        """Serve an accepted socket until either side closes it; the run continues for a while."""
        try:
            await super().serve()
        finally:
            if self._live_run is not None:
                self._live_run.disconnect(self._leave)

    def _tasks(self) -> Iterable[asyncio.Task[None]]:
        return () if self._stream is None else (self._stream,)

    async def _receive_all(self) -> None:
        await self._rejoin()
        await super()._receive_all()

    async def _receive(self, message: Any) -> sockets.Closing | None:
        try:
            closing = await self._handle(message)
        except (errors.UsageError, errors.RemoteFailed) as error:
            self._errors += 1
            await self._send_error(error)
            return None if self._errors < MAX_ERRORS else ONLY_ERRORS
        self._errors = 0
        return closing

    async def _handle(self, message: Any) -> sockets.Closing | None:
        """Handle a message; return why the connection is closed, if it is. Raise `UsageError`."""
        data = message.get("bytes")
        if data is not None:
            await self._take_audio(check_audio(data))
            return None
        frame = read_frame(message["text"])
        if isinstance(frame, AudioChunk):  # bounded by the queue of the model's connection
            await self._take_audio(frame.audio())
        elif self._is_too_fast():
            return sockets.TOO_MANY_MESSAGES
        else:
            await self._take(frame)
        return None

    async def _send_error(self, error: errors.PrismError) -> None:
        frame = {"type": "error", "code": error.kind, "errorText": error.detail}
        await self._out.put(sockets.encode(frame))

    # ------------------------------------------------------------------ the run

    async def _rejoin(self) -> None:
        """Continue the run of the session, if there is one."""
        session = self._request.session
        if session and self._live.is_running(self._origin(session)):
            try:
                await self._join(session)
            except (errors.UsageError, errors.RemoteFailed) as error:
                await self._send_error(error)

    def _origin(self, session: str) -> Origin:
        return Origin(app=self._request.app, user=self._request.user, session=session)

    async def _joined(self, chat: str = "") -> LiveRun:
        """Return the run; join it the first time."""
        if self._live_run is None:
            await self._join(
                self._request.session or (check_session(chat) if chat else f"live-{uuid4()}")
            )
        assert self._live_run is not None
        return self._live_run

    async def _join(self, session: str) -> None:
        run = await self._connect(self._origin(session))
        after = await self._find_position(run)
        frame = {"type": "session", "run": run.id, "session": session, "after": str(after)}
        await self._out.put(sockets.encode(frame))
        self._start_stream(run, after)

    async def _connect(self, origin: Origin) -> LiveRun:
        """Connect to the run of a session, which is started if there is none. Raise `Conflict`."""
        options = self._request.options
        try:
            self._live_run = await self._live.join(origin, options, self._leave, self._play)
        except errors.Conflict:
            self._out.close(BUSY)
            raise
        return self._live_run

    async def _find_position(self, run: LiveRun) -> Position:
        """Return the client's position; the beginning, if it was in another run."""
        if not self._request.after:
            return BEGINNING
        try:
            after = parse_position(self._request.after, run.id)
            await check_position(self._log, run.id, after)
        except errors.BadPosition:
            return BEGINNING
        return after

    def _leave(self, reason: DisconnectReason) -> None:
        self._out.close(DISCONNECTED[reason])

    def _start_stream(self, run: LiveRun, after: Position) -> None:
        self._stream = asyncio.create_task(self._send_run(run, after), name=f"send {run.id}")

    async def _send_run(self, run: LiveRun, after: Position) -> None:
        """Send the run from a position to its end, and close."""
        try:
            await self._send_frames(run, after)
            summary = await self._log.summary(run.id)
        except errors.LogError:  # reported to the operator where the run is recorded
            self._out.close(LOG_FAILED)
            return
        await self._out.close_when_sent(FAILED if summary.outcome == "failed" else ENDED)

    async def _send_frames(self, run: LiveRun, after: Position) -> None:
        placed = positioned_frames(self._log, run.id, self._request.format, after)
        async with aclosing(placed) as frames:
            async for position, payload in frames:
                self._position = position
                # Audio has been sent already, and `[DONE]` is for streams over HTTP.
                if payload.data != b"[DONE]" and _PCM not in payload.data[:24]:
                    await self._out.put(_chunk(position, payload.data))

    def _play(self, audio: PcmChunk) -> None:
        """Send a chunk of the agent's audio; not before the client knows the run."""
        if self._stream is None:
            return
        form = _format_of(audio.media_type)
        if self._request.binary:
            if form != self._audio_format:
                self._audio_format = form
                self._out.put_audio(f'{{"type":"audio",{form}}}')
            self._out.put_audio(audio.pcm)
            return
        # Formatted by hand: fifty a second for each client, and only the content differs.
        content = sockets.encode(audio.pcm)
        self._out.put_audio(
            f'{{"type":"chunk","position":"{self._position}","chunk":{{"type":"data-pcm",'
            f'"data":{{"content":{content},{form}}},"transient":true}}}}'
        )

    # ------------------------------------------------------------------ from the client

    async def _take(self, frame: Command) -> None:
        match frame:
            case Message():
                await self._take_message(frame)
            case AudioControl():
                await self._switch_microphone(frame)
            case Ping():
                stamp = {} if frame.timestamp is None else {"timestamp": frame.timestamp}
                await self._out.put(sockets.encode({"type": "pong", **stamp}))
            case ToolResult() | Approval() | Interrupt() | Close():
                await self._take_answer(frame)
            case _:
                assert_never(frame)

    async def _take_message(self, frame: Message) -> None:
        asked = read_request(frame.body(frame.id or self._request.session or "live"))
        match asked.command:
            case Submit() as message:
                content = read_content(message.content)
                run = await self._joined(frame.id)
                await self._take_responses(run, message)
                if content.parts:
                    await run.source.say(content, message.message_id[:LONGEST_NAME])
            case Answer() as given:
                await self._continue(await self._joined(frame.id), given)
            case Regenerate() | AnswerQuestions() | RunAgent() | ChangeState():
                raise errors.Unprocessable(
                    "A live answer cannot be regenerated; send the message again."
                )

    async def _take_responses(self, run: LiveRun, message: Submit) -> None:
        """Take the answers that are parts of a user's message."""
        for request, response in message.responses.items():
            run.source.questions.give_result(request, ClientToolResult(response))
        for given in message.confirmed:
            await self._decide(run, given)

    async def _continue(self, run: LiveRun, given: Answer) -> None:
        """Take the answers in an assistant's message; those that were given before are ignored."""
        for answer in given.answers:
            try:
                if answer.decision is not None:
                    await self._decide(run, answer.decision)
                elif answer.output is not None:
                    run.source.questions.give_result(answer.call, ClientToolResult(answer.output))
            except errors.Conflict:
                continue  # the message holds all its calls, also those of before

    async def _decide(self, run: LiveRun, decision: Decision) -> None:
        run.source.questions.decide(structs.replace(decision, by=called_by()))
        action: Action = "approval given" if decision.approved else "approval denied"
        await self._context.audit.note(
            AuditedAction(action=action, origin=run.origin, run=run.id, about=decision.approval)
        )

    async def _take_audio(self, pcm: bytes) -> None:
        if not self._is_microphone_on:
            raise errors.Unprocessable(
                'The microphone is off; send {"type": "audio_control", "action": "start"} first.'
            )
        self._send_to_model(self._live_run or await self._joined(), pcm)

    def _send_to_model(self, run: LiveRun, data: bytes, media_type: str = MICROPHONE_TYPE) -> None:
        """Send audio or an image to the model. Raise `Conflict`, once in a while, if there is no room."""
        now = self._now()
        if (
            run.source.send_audio(data, media_type)
            or now - self._drop_notice < DROP_NOTICE_INTERVAL
        ):
            return
        self._drop_notice = now
        raise errors.Conflict("The model is too slow: audio was dropped.")

    async def _switch_microphone(self, frame: AudioControl) -> None:
        run = await self._joined()
        self._is_microphone_on = frame.action == "start"
        if self._is_microphone_on:
            run.source.start_speech()
        else:
            run.source.end_speech()

    async def _take_answer(self, frame: ToolResult | Approval | Interrupt | Close) -> None:
        """Take what is about a run that has started."""
        run = self._live_run
        if run is None:
            if isinstance(frame, Close):
                self._out.close(ENDED)
                return
            raise errors.Unprocessable("The run has not started; send a message or audio first.")
        match frame:
            case ToolResult():
                result = ClientToolResult(frame.result, frame.error_text)
                run.source.questions.give_result(frame.tool_call_id, result)
            case Approval():
                await self._decide(run, frame.decision)
            case Interrupt():
                await run.source.interrupt(frame.reason[:60])
            case Close():
                run.end()
            case _:
                assert_never(frame)


@lru_cache(16)
def _format_of(media_type: str) -> str:
    """Return the format of raw audio as members of a JSON object."""
    found = _RATE.search(media_type)
    rate = int(found[1]) if found else _DEFAULT_RATE
    return f'"sampleRate":{rate},"channels":1,"bitDepth":16'


def _chunk(position: Position, chunk: bytes) -> str:
    return f'{{"type":"chunk","position":"{position}","chunk":{chunk.decode()}}}'


# ---------------------------------------------------------------------------
# `WS /api/live/{app}`: a live conversation with an agent; its frames are in `server.live`.

DIALECT = "7"
"""The default: a question and its answer are in one stream here, which a v6 client does not support."""


def routes(context: Context) -> APIRouter:
    """Return the router of live conversations."""
    router = APIRouter(prefix="/api/live")

    @router.websocket("/{app_name}")
    async def live_socket(
        socket: WebSocket,
        app_name: AppName,
        user: QueryUser,
        session: str = "",
        dialect: str = DIALECT,
        after: str = "",
        audio: Literal["json", "binary"] = "json",
        modality: Literal["audio", "text"] = "audio",
        turns: Literal["detected", "manual"] = "detected",
    ) -> None:
        context.lifecycle.check_open()
        (await context.apps.open(app_name)).check("live")
        format = context.streams.format(socket, SPEC, dialect)
        if after:
            parse_position(after)
        options = structs.replace(context.live.options, modality=modality, manual=turns == "manual")
        request = ConnectRequest(
            app=app_name,
            user=user,
            session=check_session(session) if session else "",
            format=format,
            after=after,
            binary=audio == "binary",
            options=options,
        )
        await socket.accept()
        await LiveConnection(socket, request, context).serve()

    return router
