"""One client's conversation with a live agent, over one socket.

Up come the frames of `frames`; down go `{"type": "chunk", "position", "chunk"}` with the AI SDK's chunks,
and beside them `session` (which run this is), `pong` and `error`. The agent's sound comes at once, by its
own way, as `data-pcm` chunks or, if the client wants it so, as binary messages, each after an `audio`
message where the format changes.

The run begins with the first thing that is said to it. What a client does wrong is told in an `error` and
ends nothing; closed is only with these codes:

    1000   the conversation is over           1012   the server goes down; come back
    1008   too much, or nothing but mistakes  4001   another client took the line over
    1011   the run failed                     4009   another client is on the line
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from functools import lru_cache
from typing import Any, assert_never
from uuid import uuid4

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.commands import Answer, ChangeState, Regenerate, RunAgent, Submit
from adk_prism.errors import (
    BadPosition,
    Conflict,
    LogError,
    PrismError,
    Unprocessable,
    UsageError,
)
from adk_prism.pipeline.audit_actions import Action, AuditedAction, WriteAudit
from adk_prism.pipeline.live_runs import DisconnectReason, LiveRun, LiveRuns
from adk_prism.pipeline.positioned_frames import check_position, positioned_frames
from adk_prism.projection.ai_sdk.requests import read_request
from adk_prism.projection.contract import Format
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import BEGINNING, Origin, Position, parse_position
from adk_prism.server.guards.name_rules import LONGEST_NAME, check_session
from adk_prism.server.live.frames import (
    Approval,
    AudioChunk,
    AudioControl,
    Close,
    Command,
    Interrupt,
    Message,
    Ping,
    ToolResult,
    check_audio,
    read_frame,
)
from adk_prism.server.live.rate_limit import MessageRateLimit
from adk_prism.server.live.send_queue import SendQueue
from adk_prism.server.observability.request_tracking import called_by
from adk_prism.source.live.audio_log import PcmChunk
from adk_prism.source.live.options import LiveOptions
from adk_prism.source.live.pending_questions import ApprovalDecision, ClientToolResult
from adk_prism.source.request import read_content

MAX_ERRORS = 50
"""In a row: whoever makes as many does not listen to errors."""

GONE: dict[DisconnectReason, tuple[int, str]] = {
    "taken over": (4001, "another client took over"),
    "going down": (1012, "the server goes down"),
}
BUSY = 4009

_encode = msgspec.json.Encoder().encode
_PCM = b'"data-pcm"'
_RATE = re.compile(r"rate=(\d{1,7})")
_SPOKEN_RATE = 24_000


class ConnectRequest(Struct, frozen=True, kw_only=True):
    """What a client asks for when it connects."""

    app: str
    user: str
    session: str = ""
    """Empty: the chat that the first message names, or a new one."""
    format: Format
    after: str = ""
    """A position: what comes after it is told; without, all that the run has said."""
    binary: bool = False
    options: LiveOptions = LiveOptions()


class LiveConnection:
    """One socket's conversation."""

    def __init__(
        self,
        socket: WebSocket,
        request: ConnectRequest,
        live: LiveRuns,
        log: RunLog,
        note: WriteAudit,
    ) -> None:
        self._socket = socket
        self._note = note
        self._request = request
        self._live = live
        self._log = log
        self._out = SendQueue(socket)
        self._pace = MessageRateLimit(self._now())
        self._line: LiveRun | None = None
        self._sending_task: asyncio.Task[None] | None = None
        self._position = BEGINNING
        self._is_on = False
        """The microphone is."""
        self._mistakes = 0
        self._format = ""
        """Of the binary sound that was sent last."""
        self._dropped_at = 0.0

    # ------------------------------------------------------------------ the connection

    async def serve(self) -> None:
        """Talk until either side has had enough; then nothing of it is left."""
        listening = asyncio.create_task(self._listen(), name="live listen")
        sending = asyncio.create_task(self._out.run(), name="live send")
        leave = self._leave
        try:
            await asyncio.wait({listening, sending}, return_when=asyncio.FIRST_COMPLETED)
            await self._out.wait_closed(sending)
        finally:
            tasks = {listening, sending, *filter(None, [self._sending_task])}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if self._line is not None:
                self._line.drop(leave)
        errors = [task.exception() for task in tasks if not task.cancelled()]
        for error in filter(None, errors):
            raise error

    async def _listen(self) -> None:
        if self._request.session:
            await self._rejoin()
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if why := await self._take_message(message):
                self._out.close(1008, why)
                return

    async def _take_message(self, message: Any) -> str:
        """Take a message; return why the client is not listened to any more, if it is not."""
        try:
            data = message.get("bytes")
            if data is not None:
                await self._hear(check_audio(data))
            else:
                frame = read_frame(message["text"])
                if isinstance(
                    frame, AudioChunk
                ):  # which has its own bound: what waits for the model
                    await self._hear(frame.sound())
                elif self._pace.allows(self._now()):
                    await self._take(frame)
                else:
                    return "too many messages"
        except UsageError as error:
            self._mistakes += 1
            await self._tell_error(error)
        else:
            self._mistakes = 0
        return "" if self._mistakes < MAX_ERRORS else "nothing but mistakes"

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def _tell_error(self, error: PrismError) -> None:
        told = {"type": "error", "code": error.kind, "errorText": error.detail}
        await self._out.put(_encode(told).decode())

    # ------------------------------------------------------------------ the line

    async def _rejoin(self) -> None:
        """Go on with the run of the session, if there is one."""
        if self._live.is_running(self._origin(self._request.session)):
            try:
                await self._join(self._request.session)
            except UsageError as error:
                await self._tell_error(error)

    def _origin(self, session: str) -> Origin:
        return Origin(app=self._request.app, user=self._request.user, session=session)

    async def _on_line(self, chat: str = "") -> LiveRun:
        """Return the line; the first time, join it."""
        if self._line is None:
            session = self._request.session or (check_session(chat) if chat else f"live-{uuid4()}")
            await self._join(session)
        assert self._line is not None
        return self._line

    async def _join(self, session: str) -> None:
        origin = self._origin(session)
        try:
            line = await self._live.join(origin, self._request.options, self._leave, self._play)
        except Conflict:
            self._out.close(BUSY, "another client is on the line")
            raise
        self._line = line
        after = await self._find(line)
        told = {"type": "session", "run": line.run, "session": session, "after": str(after)}
        await self._out.put(_encode(told).decode())
        self._sending_task = asyncio.create_task(self._tell(line, after), name=f"tell {line.run}")

    async def _find(self, line: LiveRun) -> Position:
        """Return the place to go on from: the beginning, if the client's was in another run."""
        if not self._request.after:
            return BEGINNING
        try:
            after = parse_position(self._request.after, line.run)
            await check_position(self._log, line.run, after)
        except BadPosition:
            return BEGINNING
        return after

    def _leave(self, why: DisconnectReason) -> None:
        self._out.close(*GONE[why])

    async def _tell(self, line: LiveRun, after: Position) -> None:
        """Send what the run says, until it is over."""
        try:
            await self._tell_all(line, after)
        except LogError:  # the operator is told where the run is recorded
            self._out.close(1011, "the run log failed")

    async def _tell_all(self, line: LiveRun, after: Position) -> None:
        async with aclosing(
            positioned_frames(self._log, line.run, self._request.format, after)
        ) as frames:
            async for position, payload in frames:
                self._position = position
                # The client has heard the sound already, and the terminator is for streams that end.
                if payload.data != b"[DONE]" and _PCM not in payload.data[:24]:
                    await self._out.put(_chunk(position, payload.data))
        summary = await self._log.summary(line.run)
        failed = summary.outcome == "failed"
        await self._out.finish(*((1011, "the run failed") if failed else (1000, "over")))

    def _play(self, sound: PcmChunk) -> None:
        """Send a piece of the agent's sound; not before the client knows what run it is of."""
        if self._sending_task is None:
            return
        form = _form(sound.media_type)
        if self._request.binary:
            if form != self._format:
                self._format = form
                self._out.put_sound(f'{{"type":"audio",{form}}}')
            self._out.put_sound(sound.pcm)
            return
        # Written by hand: fifty a second for each client, and only the sound differs.
        self._out.put_sound(
            f'{{"type":"chunk","position":"{self._position}","chunk":{{"type":"data-pcm",'
            f'"data":{{"content":{_encode(sound.pcm).decode()},{form}}},"transient":true}}}}'
        )

    # ------------------------------------------------------------------ what the client says

    async def _take(self, frame: Command) -> None:
        match frame:
            case Message():
                await self._say(frame)
            case AudioControl():
                await self._switch(frame)
            case Ping():
                stamp = {} if frame.timestamp is None else {"timestamp": frame.timestamp}
                await self._out.put(_encode({"type": "pong", **stamp}).decode())
            case ToolResult() | Approval() | Interrupt() | Close():
                await self._answer(frame)
            case _:
                assert_never(frame)

    async def _say(self, frame: Message) -> None:
        asked = read_request(frame.body(frame.id or self._request.session or "live"))
        match asked.command:
            case Submit() as message:
                content = read_content(message.content)
                line = await self._on_line(frame.id)
                await self._give(line, message)
                if content.parts:
                    await line.source.say(content, message.message_id[:LONGEST_NAME])
            case Answer() as given:
                await self._continue(await self._on_line(frame.id), given)
            case Regenerate() | RunAgent() | ChangeState():
                raise Unprocessable("A spoken message cannot be regenerated; ask again.")

    async def _give(self, line: LiveRun, message: Submit) -> None:
        """Take the answers that are parts of a user's message."""
        for request, response in message.responses.items():
            line.source.give_result(request, ClientToolResult(response))
        for given in message.confirmed:
            decision = ApprovalDecision(given.approved, given.reason, called_by(), given.payload)
            await self._decide(line, given.approval, decision)

    async def _continue(self, line: LiveRun, given: Answer) -> None:
        """Take the answers in an assistant's message; those that were given before are passed over."""
        for answer in given.answers:
            try:
                if answer.decision is not None:
                    said = answer.decision
                    told = ApprovalDecision(said.approved, said.reason, called_by(), said.payload)
                    await self._decide(line, said.approval, told)
                elif answer.output is not None:
                    line.source.give_result(answer.call, ClientToolResult(answer.output))
            except Conflict:
                continue  # the message holds all its calls, also those of before

    async def _decide(self, line: LiveRun, approval: str, decision: ApprovalDecision) -> None:
        line.source.decide(approval, decision)
        action: Action = "approval given" if decision.approved else "approval denied"
        await self._note(
            AuditedAction(action=action, origin=line.origin, run=line.run, about=approval)
        )

    async def _hear(self, pcm: bytes) -> None:
        if not self._is_on:
            raise Unprocessable(
                "The microphone is off; send audio_control with action start first."
            )
        line = self._line or await self._on_line()
        if not line.source.send_audio(pcm) and self._now() - self._dropped_at > 1:
            self._dropped_at = self._now()
            raise Conflict("The model is too slow: audio was dropped.")

    async def _switch(self, frame: AudioControl) -> None:
        line = await self._on_line()
        self._is_on = frame.action == "start"
        if self._is_on:
            line.source.start_speech()
        else:
            line.source.end_speech()

    async def _answer(self, frame: ToolResult | Approval | Interrupt | Close) -> None:
        """Take what has a meaning only while the run goes on."""
        line = self._line
        if line is None:
            if isinstance(frame, Close):
                self._out.close(1000, "over")
                return
            raise Unprocessable("There is no run yet; send a message or audio first.")
        match frame:
            case ToolResult():
                result = ClientToolResult(frame.result, frame.error_text)
                line.source.give_result(frame.tool_call_id, result)
            case Approval():
                decision = ApprovalDecision(
                    frame.approved, frame.reason or "", called_by(), frame.given
                )
                await self._decide(line, frame.approval_id, decision)
            case Interrupt():
                await line.source.interrupt(frame.reason[:60])
            case Close():
                line.end()
            case _:
                assert_never(frame)


@lru_cache(16)
def _form(media_type: str) -> str:
    """Return the form of raw sound as members of a JSON object."""
    found = _RATE.search(media_type)
    rate = int(found[1]) if found else _SPOKEN_RATE
    return f'"sampleRate":{rate},"channels":1,"bitDepth":16'


def _chunk(position: Position, chunk: bytes) -> str:
    return f'{{"type":"chunk","position":"{position}","chunk":{chunk.decode()}}}'


async def serve_live(
    socket: WebSocket, request: ConnectRequest, live: LiveRuns, log: RunLog, note: WriteAudit
) -> None:
    """Accept a socket and serve it."""
    await socket.accept()
    try:
        await LiveConnection(socket, request, live, log, note).serve()
    except WebSocketDisconnect:
        return
