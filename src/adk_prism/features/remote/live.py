"""A live run of a remote app: what the client says goes to the remote's `WS /run_live`, its events come here.

Follows google-adk 2.13 `cli/api_server.py` (`run_agent_live`) and `live/live_request_queue.py`; 1.39 has the
same route. It has no way to say that the client marks where speech begins and ends, so the remote's model
detects it. Nor is there a signal of an interruption that every model understands: the agent's words are
dropped here until its turn ends.

ADK's server does not close the connection when its run is over; when it failed, it does (1011). A connection
that is lost otherwise ends the run as `owner_lost`.

Calls that wait for the client are long-running tools, and requests for an approval. ADK's own server asks for
no approval in a live run; another server of ours does. An answer is the call's response, in a message of its
own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.events.event import Event
from google.genai import types
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from adk_prism.adk.redaction import state_json
from adk_prism.adk.request import Emit, SeenCall
from adk_prism.errors import Conflict, NotFound, Report, SourceError, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.features.remote.connection import Connection
from adk_prism.features.remote.events import stored_event
from adk_prism.features.remote.sessions import RemoteSessions
from adk_prism.log import entry as logged
from adk_prism.log.private_files import Recent
from adk_prism.version import VERSION
from adk_prism.voice.conversation import MICROPHONE_TYPE, LiveConversation
from adk_prism.voice.run_context import ClientToolResult, LiveCall, LiveOptions

OWNER_LOST = "owner_lost"

MAX_WAITING = 250
"""Requests that may wait to be sent before audio is dropped: five seconds of it in chunks of 20 ms."""

NO_SESSION, TOO_BIG, FAILED = 1002, 1009, 1011
_ORDINARY = frozenset({1000, 1005})
"""Codes of a connection that was closed without an error."""

_DETECTS = logged.Warned(
    code="manual", text="The remote's model detects by itself where speech begins and ends."
)

_Outgoing = tuple[LiveRequest, Event | None]
"""A request, and what is recorded of it before it is sent."""


class RemoteLiveSource(LiveConversation):
    """One live run of a remote app."""

    def __init__(
        self,
        connection: Connection,
        sessions: RemoteSessions,
        call: LiveCall,
        *,
        agents: Sequence[logged.Agent],
        report: Report,
    ) -> None:
        """Prepare a run; `records` starts it."""
        super().__init__(call, report)
        self._invocation = ""  # The remote's to choose.
        self._connection = connection
        self._sessions = sessions
        self._agents = list(agents)
        self._outgoing: asyncio.Queue[_Outgoing] = asyncio.Queue()
        self._questions = RemoteQuestions(self._answer)
        self._was_closed = False

    @property
    def questions(self) -> RemoteQuestions:
        """The open questions of the run."""
        return self._questions

    # ------------------------------------------------------------------ the run

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[logged.Record, None]:
        """Run until the client or the remote ends it. Raise `NotFound` or `RemoteFailed`."""
        del emit  # everything goes through one queue
        origin = self._call.origin
        state, _ = await self._sessions.before_run(origin)
        async with self._connection.client.socket(self._path()) as socket:
            yield self._started(state)
            self._driver = asyncio.create_task(self._drive(socket), name=f"live {self._call.run}")
            try:
                while (record := await self._records.get()) is not None:
                    if not isinstance(record, SeenCall):  # The remote's model calls are not seen.
                        yield record
            finally:
                await self._end(self._driver)
                self._sessions.changed(origin.user, origin.session)
        self._raise_failure(self._driver)

    def _started(self, state: dict[str, Any]) -> logged.RunStarted:
        return logged.RunStarted(
            run=self._call.run,
            origin=self._call.origin,
            live=True,
            agents=self._agents,
            state=state_json(state),
            labels=logged.labels(
                logged.WARNINGS([_DETECTS] if self._call.options.manual else []),
                logged.WRITTEN_BY(VERSION),
            ),
        )

    def _path(self) -> str:
        origin = self._call.origin
        where = {
            "app_name": self._connection.app,
            "user_id": origin.user,
            "session_id": origin.session,
        }
        query = urlencode({**where, **_asked(self._call.options)})
        return f"{self._connection.dialect.prefix}/run_live?{query}"

    async def _drive(self, socket: ClientConnection) -> None:
        """Pass requests and events on until the connection ends. Raise `RemoteFailed`."""
        sending = asyncio.create_task(self._send_all(socket))
        total = self._connection.remote.total
        try:
            async with asyncio.timeout(total):
                await self._receive_all(socket)
        except TimeoutError:
            raise self._connection.client.failed(
                f"its run took more than {total:g} seconds"
            ) from None
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            await self._write_audio()
            await self._records.put(None)

    async def _receive_all(self, socket: ClientConnection) -> None:
        try:
            while True:
                data = await socket.recv(decode=False)
                await self._take(data)
        except ConnectionClosed as error:
            closed = error
        ended = self._ended(closed)
        if ended is not None:
            await self._write_audio()
            await self._records.put(ended)

    async def _take(self, data: bytes) -> None:
        try:
            event = stored_event(data)
        except SourceError:
            raise self._connection.client.failed(
                "it sent something that is not an ADK event"
            ) from None
        self._invocation = self._invocation or event.invocation_id
        await self._record(event)
        self._questions.note(event)

    def _ended(self, closed: ConnectionClosed) -> logged.RunEnded | None:
        """Return the end of a run whose connection was lost, None if it was over. Raise `RemoteFailed`."""
        client, said = self._connection.client, closed.rcvd
        code = said.code if said is not None else None
        if closed.sent is not None and closed.sent.code == TOO_BIG:
            raise client.failed("one of its events is too large")
        if self._is_closing or code in _ORDINARY:
            return None
        if code in (FAILED, NO_SESSION):
            hint = "" if self._invocation else "; perhaps its model has no live mode"
            raise client.failed(f"its live run failed{hint}", said.reason if said else "")
        client.failed("the connection of a live run was lost", str(closed))
        return logged.RunEnded(outcome="failed", code=OWNER_LOST)

    async def _send_all(self, socket: ClientConnection) -> None:
        while True:
            request, event = await self._outgoing.get()
            if event is not None:
                await self._record_own(event)
            try:
                await socket.send(request.model_dump_json(exclude_none=True, exclude_defaults=True))
            except ConnectionClosed:
                return  # Whoever receives says what that means.

    # ------------------------------------------------------------------ from the client

    def _send(self, request: LiveRequest, event: Event | None = None) -> None:
        self._outgoing.put_nowait((request, event))

    async def say(self, content: types.Content, message: str = "", partial: bool = False) -> None:
        """Send the user's message. Raise `Unprocessable` also for what the remote would ignore."""
        if partial:
            self._check_newer("a message that is not complete")
        await super().say(content, message, partial)

    async def change_state(self, delta: Any) -> None:
        """Change the session's state. Raise `Unprocessable` where the remote would ignore it."""
        self._check_newer("state")
        await super().change_state(delta)

    def _check_newer(self, what: str) -> None:
        """Raise for what 1.x ignores without a word."""
        if not self._connection.dialect.has_newer_live:
            raise Unprocessable(f"The remote's version of ADK does not take {what} in a live run.")

    def _answer(self, response: types.FunctionResponse) -> None:
        content = types.Content(role="user", parts=[types.Part(function_response=response)])
        self._send(LiveRequest(content=content), Event(author="user", content=content))

    def send_audio(self, pcm: bytes, media_type: str = MICROPHONE_TYPE) -> bool:
        """Send a chunk of audio, or an image; return whether there was room for it."""
        if self._outgoing.qsize() >= MAX_WAITING:
            return False
        self._send(LiveRequest(blob=types.Blob(data=pcm, mime_type=media_type)))
        return True

    def start_speech(self) -> None:
        """Do nothing: the remote's model detects it."""

    def end_speech(self) -> None:
        """Signal that no more audio comes for now."""
        self.end_audio()

    def _interrupt_model(self) -> None:
        """Do nothing: which signal its model understands is not known."""

    # ------------------------------------------------------------------ the end

    @property
    def _is_closing(self) -> bool:
        return self._was_closed

    def _ask_to_end(self) -> None:
        self._was_closed = True
        self._send(LiveRequest(close=True))


def _asked(options: LiveOptions) -> dict[str, str]:
    """Return what the route takes of a run's options."""
    given = {
        "proactive_audio": options.proactive,
        "enable_affective_dialog": options.affective,
        "enable_session_resumption": options.transparent,
        "explicit_vad_signal": options.explicit_activity,
        "save_live_blob": options.save_audio or None,
    }
    known = {key: str(value).lower() for key, value in given.items() if value is not None}
    return {"modalities": options.modality.upper(), **known}


# --------------------------------------------------------------------------- calls that wait

MOST_CALLS = 256
"""Calls that are remembered."""

_NUMBERED = re.compile(r"~\d+$")
"""What is appended where a model uses an id again (`facts.open_calls`)."""

Answer = Callable[[types.FunctionResponse], None]


class RemoteQuestions:
    """The calls of one run that wait for the client."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open: Recent[str, str] = Recent(MOST_CALLS)
        """Names of calls, by id."""
        self._answered: Recent[str, None] = Recent(MOST_CALLS)

    def note(self, event: Event) -> None:
        """Learn which calls of an event wait."""
        waiting = event.long_running_tool_ids or ()
        for call in event.get_function_calls() if waiting and not event.partial else ():
            if call.id is not None and call.id in waiting:
                self._open[call.id] = call.name or ""
        for response in event.get_function_responses():
            self._open.pop(response.id or "", None)

    def decide(self, decision: logged.Decision) -> None:
        """Answer an approval. Raise `Conflict` or `NotFound`."""
        given: dict[str, Any] = {"confirmed": decision.approved}
        if not logged.is_absent(decision.payload):
            given["payload"] = msgspec.json.decode(decision.payload)
        self._give(decision.approval, given, is_approval=True)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Take the client's result of a call. Raise `Conflict` or `NotFound`."""
        value = msgspec.json.decode(result.value)
        given = value if isinstance(value, dict) and value else {"result": value}
        self._give(call, {"error": result.error} if result.error else given, is_approval=False)

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Take the result of the last call with this id. Raise `Conflict` or `NotFound`."""
        self.give_result(adk_id, result)

    def abandon_all(self, reason: str) -> None:
        """Leave them open: the remote does not wait for them."""

    def _give(self, call: str, given: dict[str, Any], *, is_approval: bool) -> None:
        call = _NUMBERED.sub("", call)
        if call in self._answered:
            raise Conflict(f"{call[:80]!r} has been answered already.")
        name = self._open.get(call)
        if name is None or (name == CONFIRMATION) != is_approval:
            raise NotFound(f"{call[:80]!r} is unknown: nothing asked for it.")
        del self._open[call]
        self._answered[call] = None
        self._answer(types.FunctionResponse(id=call, name=name, response=given))
