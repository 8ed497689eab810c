"""What every live run does with what is said, wherever its agent runs.

- everything that is recorded goes through one queue, so the log has one order;
- the user's text is recorded here, because ADK stores it without an event;
- audio goes to the listener at once, and to the log in larger events (`audio_log`);
- session resumption handles are not recorded;
- after an interruption the agent's audio is dropped until it has ended its turn.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Protocol

from google.adk.agents.live_request_queue import LiveRequest
from google.adk.events import Event, EventActions
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from msgspec import Struct, json

from adk_prism.adk.errors import first_cause
from adk_prism.adk.plain_json import storable
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.request import Emit, SeenCall, checked_message
from adk_prism.errors import Report, Unprocessable
from adk_prism.log.entry import AgentEvent, Decision, Record, SpeakerInterrupted
from adk_prism.log.private_files import Recent
from adk_prism.voice.run_context import ClientToolResult, LiveCall

# ---------------------------------------------------------------------------
# The agent's audio on its way to the log: joined into larger events, and kept up to a limit.
#
# A live model sends about fifty chunks of audio a second. The client gets each at once; the log gets
# them joined, one event a second, which says how many chunks it holds. The first chunk of a turn is
# logged alone, because the message starts with it. Beyond the limit only number and size are kept,
# which is what a message's totals need.

EVENT_BYTES = 48_000
"""Bytes that are joined into one event: a second at 24 kHz."""

_encode = json.Encoder().encode

NOTE = "adkPrism"
"""Key of a part's metadata that says how much audio it represents (`facts.event_actions`)."""


class PcmChunk(Struct, frozen=True, gc=False):
    """A chunk of raw audio: 16 bits, one channel."""

    pcm: bytes
    media_type: str


_OTHER_FIELDS = (
    "partial turn_complete interrupted error_code grounding_metadata usage_metadata"
    " input_transcription output_transcription voice_activity go_away live_session_resumption_update"
).split()


def audio_in(response: LlmResponse) -> list[PcmChunk] | None:
    """Return the audio of a response or an event that has nothing else; None for any other."""
    content = response.content
    if content is None or not content.parts or content.role == "user":
        return None
    # All in one pass: this runs about fifty times a second for each client.
    if any(map(response.__dict__.get, _OTHER_FIELDS)):
        return None
    found = []
    for part in content.parts:
        blob = part.inline_data
        if blob is None or part.text or not (blob.mime_type or "").startswith("audio/pcm"):
            return None
        found.append(PcmChunk(blob.data or b"", blob.mime_type or ""))
    return found


class AudioLog:
    """Joins the audio of one run into events for its log."""

    def __init__(self, limit: int, serialise: Callable[[Event], bytes]) -> None:
        """`limit` is how many bytes the log keeps."""
        self._left = limit
        self._serialise = serialise
        self._first: Event | None = None
        self._chunks: list[PcmChunk] = []
        self._size = 0
        self._is_first = True
        """The next chunk is the first of its turn."""

    def end_turn(self) -> None:
        """Note that the next chunk belongs to another turn."""
        self._is_first = True

    def add(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> list[AgentEvent]:
        """Take the chunks of an event, which is made only if needed; return what is to be logged now."""
        due = []
        if self._first is not None and not self._fits(author, chunks):
            due += self.flush()
        self._first = self._first or event()
        self._chunks += chunks
        self._size += sum(len(chunk.pcm) for chunk in chunks)
        if self._is_first or self._size >= EVENT_BYTES:
            due += self.flush()
        self._is_first = False
        return due

    def _fits(self, author: str, chunks: list[PcmChunk]) -> bool:
        """Return whether chunks can be joined to those before."""
        assert self._first is not None
        same = self._chunks[0].media_type == chunks[0].media_type
        return same and self._first.author == author

    def flush(self) -> list[AgentEvent]:
        """Return the chunks since the last event as one event; none if there are none."""
        event, chunks, size = self._first, self._chunks, self._size
        if event is None:
            return []
        self._first, self._chunks, self._size = None, [], 0
        kept = size <= self._left
        if kept:
            self._left -= size
        part = _part(chunks, size, kept=kept)
        rest = self._serialise(event.model_copy(update={"content": None}))
        whole = b'{"content":{"parts":[%b],"role":"model"},%b' % (part, rest[1:])
        return [AgentEvent(whole)]


def _part(chunks: list[PcmChunk], size: int, *, kept: bool) -> bytes:
    """Return audio as a part's JSON, as ADK writes it: URL-safe Base64."""
    pcm = b"".join(chunk.pcm for chunk in chunks) if kept else b""
    data = _encode(pcm).replace(b"+", b"-").replace(b"/", b"_")
    inline = b'"inlineData":{"data":%b,"mimeType":%b}' % (data, _encode(chunks[0].media_type))
    if len(chunks) == 1 and kept:
        return b"{%b}" % inline
    noted = _encode({NOTE: {"chunks": len(chunks), "bytes": size}})
    return b'{%b,"partMetadata":%b}' % (inline, noted)


# ---------------------------------------------------------------------------

MAX_UNWRITTEN = 256
"""Records that may wait to be written; beyond that the model's next event waits."""

MAX_REMEMBERED = 64
"""Message ids that are recognised when sent again: more than a client queues while disconnected."""

MICROPHONE_TYPE = "audio/pcm;rate=16000"
"""16 kHz, 16 bits, one channel, as Gemini expects it."""

CLOSE_TIMEOUT = 0.5
"""Seconds in which a run that was asked to end may do so: the last events take milliseconds."""

Listener = Callable[[PcmChunk], None]


class LiveRunCancelled(Exception):
    """The run was cancelled."""


class Questions(Protocol):
    """The open questions of a live run; each method raises `Conflict` or `NotFound` for any other."""

    def decide(self, decision: Decision) -> None:
        """Answer an approval."""

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Take the client's result of a call."""

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Take the result of the last call with this id of ADK's."""

    def abandon_all(self, reason: str) -> None:
        """Settle all of them without an answer."""


class LiveConversation(ABC):
    """One live run: a source of records, and what its client can do."""

    def __init__(self, call: LiveCall, report: Report) -> None:
        """Prepare a run; `records` starts it."""
        self._call = call
        self._serialiser = Serialiser(report, run=call.run, app=call.origin.app)
        self._records: asyncio.Queue[Record | SeenCall | None] = asyncio.Queue(MAX_UNWRITTEN)
        self._audio = AudioLog(call.options.audio_log_bytes, self._serialiser.event)
        self._invocation = call.invocation
        self._is_speaking = False
        self._is_muted = False
        self._is_cancelled = False
        self._driver: asyncio.Task[None] | None = None
        """Runs the agent, and writes the records."""
        self._said: Recent[str, None] = Recent(MAX_REMEMBERED)
        """Ids of the last messages, in order."""
        self.listener: Listener | None = None
        """Gets the agent's audio, chunk by chunk, while a client is connected."""

    async def _end(self, driver: asyncio.Task[None]) -> None:
        """Cancel what writes the records, and drop what it still writes: nobody reads it any more."""
        driver.cancel()  # has no effect on one that has ended
        dropping = asyncio.create_task(self._drop_records())
        await asyncio.wait([driver])
        dropping.cancel()

    async def _drop_records(self) -> None:
        while True:
            await self._records.get()

    @property
    def correlation(self) -> str:
        """The correlation id of the last exception text that was kept out of the log; empty if none was."""
        return self._serialiser.correlation

    @property
    @abstractmethod
    def questions(self) -> Questions:
        """The open questions of the run."""

    @property
    @abstractmethod
    def _is_closing(self) -> bool:
        """Whether the run was asked to end."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended or is ending."""
        return self._is_closing or (self._driver is not None and self._driver.done())

    @abstractmethod
    def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Run until the client or the model ends it. Raise `NotFound` for an unknown session."""

    def close(self) -> None:
        """End the run; repeating it changes nothing."""
        if self.is_over:
            return
        self._ask_to_end()
        if self._driver is not None:
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._driver.cancel)

    @abstractmethod
    def _ask_to_end(self) -> None:
        """Ask the agent to end the run."""

    def _raise_failure(self, driver: asyncio.Task[None]) -> None:
        """Raise what made the run fail. Cancelling the driver of a closed run is not a failure."""
        if self._is_cancelled:
            raise LiveRunCancelled
        if driver.cancelled():
            if not self._is_closing:
                raise asyncio.CancelledError
            return
        error = driver.exception()
        if isinstance(error, BaseExceptionGroup):
            raise first_cause(error) from error
        if error is not None:
            raise error

    def cancel(self) -> None:
        """Cancel the run."""
        self._is_cancelled = True
        self.close()

    # ------------------------------------------------------------------ from the agent

    async def _record(self, event: Event) -> bool:
        """Record an event; return False if it is audio, or not recorded."""
        chunks = audio_in(event)
        if chunks is not None:
            for due in self._play(event.author, chunks, lambda: event):
                await self._records.put(due)
            return False
        if event.live_session_resumption_update is not None:
            return False
        if not event.partial:  # a partial transcript may be recorded before its audio
            await self._write_audio()
        self._track_speech(event)
        await self._records.put(AgentEvent(self._serialiser.event(event)))
        return True

    def _track_speech(self, event: Event) -> None:
        """Track whether the agent is speaking."""
        if event.turn_complete or event.interrupted:
            self._is_speaking = self._is_muted = False
            self._audio.end_turn()
        elif event.get_function_calls():
            self._is_speaking = (
                False  # what was said before a call is complete (`facts.transcripts`)
            )
        elif event.content is not None or event.output_transcription is not None:
            self._is_speaking = True

    def _play(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> Sequence[AgentEvent]:
        """Pass audio to the listener; return what of it is to be recorded now."""
        self._is_speaking = True
        if self._is_muted:
            return ()
        if self.listener is not None:
            for chunk in chunks:
                self.listener(chunk)
        return self._audio.add(author, chunks, event)

    async def _write_audio(self) -> None:
        for due in self._audio.flush():
            await self._records.put(due)

    # ------------------------------------------------------------------ from the client

    async def say(self, content: types.Content, message: str = "", partial: bool = False) -> None:
        """Send the user's message; a message id that has been sent before is ignored.

        After a `partial` one the model waits for more. Raise `Unprocessable` for what ADK refuses.
        """
        if message in self._said:
            return  # a client that reconnected cannot know that it had arrived
        content = checked_message(content)
        if any(part.function_response for part in content.parts or ()):
            raise Unprocessable(
                "A message must not hold function responses; send tool results and approvals as such."
            )
        if message:
            self._said[message] = None
        await self._record_own(Event(id=message or Event.new_id(), author="user", content=content))
        self._send(LiveRequest(content=content, partial=partial))

    async def change_state(self, delta: Mapping[str, Any]) -> None:
        """Change the session's state; recorded here, because ADK stores it without an event."""
        changed = storable(delta)
        await self._record_own(Event(author="user", actions=EventActions(state_delta=changed)))
        self._send(LiveRequest(state_delta=changed))

    async def _record_own(self, event: Event) -> None:
        """Record what the client did."""
        event.invocation_id = self._invocation
        await self._write_audio()
        await self._records.put(AgentEvent(self._serialiser.event(event)))

    async def interrupt(self, reason: str) -> None:
        """Interrupt the agent."""
        self.questions.abandon_all("The person interrupted.")
        self._is_muted = self._is_speaking
        await self._write_audio()
        await self._records.put(SpeakerInterrupted(reason=reason))
        self._interrupt_model()

    @abstractmethod
    def _send(self, request: LiveRequest) -> None:
        """Send a request to the agent."""

    @abstractmethod
    def _interrupt_model(self) -> None:
        """Interrupt the model in the way that it supports."""

    @abstractmethod
    def send_audio(self, pcm: bytes, media_type: str = MICROPHONE_TYPE) -> bool:
        """Send a chunk of the microphone's audio, or an image; return whether there was room for it."""

    def signal_activity(self, *, starts: bool) -> None:
        """Signal to the model that the person starts or stops speaking, in any mode."""
        if starts:
            self._send(LiveRequest(activity_start=types.ActivityStart()))
        else:
            self._send(LiveRequest(activity_end=types.ActivityEnd()))

    def end_audio(self) -> None:
        """Signal to the model that no more audio comes for now."""
        self._send(LiveRequest(audio_stream_end=True))

    @abstractmethod
    def start_speech(self) -> None:
        """Handle that the person starts to speak; a model that does not detect it gets a signal."""

    @abstractmethod
    def end_speech(self) -> None:
        """Handle that the person has stopped speaking, or switched the microphone off."""
