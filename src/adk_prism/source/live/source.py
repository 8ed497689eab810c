"""A live run of an in-process ADK Runner as a source of records.

Decides how google-adk 2.13's `Runner.run_live` is driven, and what of it is recorded:
- one task drives the run; everything that is recorded goes through one queue, so the log has one order;
- the user's text is recorded here, because ADK stores it without an event;
- audio goes to the listener at once, and to the log in larger events (`audio_log`);
- session resumption handles are not recorded;
- each turn of the model is a model call (`model_calls`);
- an interruption is recorded, open approvals are denied, and the model is notified in the way that it
  understands. Its audio is dropped until it has ended its turn.

`close` ends the run: the model is notified, and ADK has half a second to end.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from typing import Any

from google.adk.agents.live_request_queue import LiveRequest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

from adk_prism.diagnostics import Report, ignore
from adk_prism.errors import Unprocessable
from adk_prism.runlog.entry import Agent, AgentEvent, Record, RunStarted, SpeakerInterrupted
from adk_prism.source.adk.live_call_cancellation import watch_cancellations
from adk_prism.source.adk.live_requests import watch_requests
from adk_prism.source.adk.live_stock_flow import has_event_plugins, is_stock_runner, process_event
from adk_prism.source.agents import list_agents
from adk_prism.source.containment import first_cause
from adk_prism.source.contract import Emit
from adk_prism.source.live.audio_bypass import AudioBypass
from adk_prism.source.live.audio_log import AudioLog, PcmChunk, audio_in
from adk_prism.source.live.model_calls import LiveCalls, has_model_callbacks
from adk_prism.source.live.options import LiveCall, run_config
from adk_prism.source.live.pending_questions import PendingQuestions
from adk_prism.source.live.plugin import NAME, live_plugin
from adk_prism.source.live.run_context import CURRENT_RUN, LiveRunContext
from adk_prism.source.model_calls.seen_call import DETAIL, SeenCall
from adk_prism.source.plain_json import storable
from adk_prism.source.plugin import NAME as NODES
from adk_prism.source.redaction import Serialiser, state_json
from adk_prism.source.request import checked_message
from adk_prism.source.sessions import load_session
from adk_prism.version import VERSION

MAX_UNWRITTEN = 256
"""Records that may wait to be written; beyond that the model's next event waits."""

MAX_REMEMBERED = 64
"""Message ids that are recognised when sent again: more than a client queues while disconnected."""

CLOSE_TIMEOUT = 0.5
"""Seconds that ADK has to end a run whose queue is closed; it takes milliseconds."""

MICROPHONE_TYPE = "audio/pcm;rate=16000"
"""16 kHz, 16 bits, one channel, as Gemini expects it."""

_IGNORES_CONTENT = re.compile(r"(?:.*/)?gemini-3")
"""Models that refuse content in the middle of a session, and can be interrupted by speech only."""

Listener = Callable[[PcmChunk], None]


class LiveRunCancelled(Exception):
    """The run was cancelled."""


class LiveSource:
    """One live run."""

    def __init__(
        self,
        runner: Runner,
        call: LiveCall,
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """Prepare a run; `records` starts it."""
        self._runner = runner
        self._call = call
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        self._serialiser = Serialiser(report, run=call.run, app=call.origin.app)
        self._records: asyncio.Queue[Record | SeenCall | None] = asyncio.Queue(MAX_UNWRITTEN)
        tools = live_plugin(runner, report).nonblocking_tools
        self._run = LiveRunContext(call.invocation, call.options, tools, self._records.put)
        self._audio = AudioLog(call.options.audio_log_bytes, self._serialiser.event)
        self._calls: LiveCalls | None = None
        self._driver: asyncio.Task[None] | None = None
        self._is_speaking = False
        self._is_muted = False
        self._is_active = False
        """The model was notified that the person is speaking."""
        self._is_cancelled = False
        self._said: dict[str, None] = {}
        """Ids of the last messages, in order."""
        self.listener: Listener | None = None
        """Gets the agent's audio, chunk by chunk, while a client is connected."""

    @property
    def questions(self) -> PendingQuestions:
        """The open questions of the run."""
        return self._run.questions

    @property
    def correlation(self) -> str:
        """The correlation id of the last exception text that was kept out of the log; empty if none was."""
        return self._serialiser.correlation

    # ------------------------------------------------------------------ the run

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Run until the client or the model ends it. Raise `NotFound` for an unknown session."""
        yield await self._started()
        detail = DETAIL.get()
        if emit is not None and detail != "off":
            self._calls = self._run.request_queue.calls = LiveCalls(
                detail, lambda: has_model_callbacks(self._runner, self._run.agent)
            )
        self._driver = asyncio.create_task(self._drive(), name=f"live {self._call.run}")
        try:
            # Everything goes through one queue.
            while (record := await self._records.get()) is not None:
                if not isinstance(record, SeenCall):
                    yield record
                elif emit is not None:
                    await emit(record)
        finally:
            self._driver.cancel()  # has no effect on one that has ended
            await asyncio.wait([self._driver])
            self._run.close()
        self._raise_failure(self._driver)

    def _raise_failure(self, driver: asyncio.Task[None]) -> None:
        """Raise what made the run fail. Cancelling the driver of a closed run is not a failure."""
        if self._is_cancelled:
            raise LiveRunCancelled
        if driver.cancelled():
            if not self._run.request_queue.closed:
                raise asyncio.CancelledError
            return
        error = driver.exception()
        if isinstance(error, BaseExceptionGroup):
            raise first_cause(error) from error
        if error is not None:
            raise error

    async def _started(self) -> RunStarted:
        origin = self._call.origin
        session = await load_session(self._runner, origin)
        return RunStarted(
            run=self._call.run,
            origin=origin,
            invocation=self._call.invocation,
            live=True,
            agents=self._agents,
            state=state_json(session.state),
            version=VERSION,
        )

    async def _drive(self) -> None:
        CURRENT_RUN.set(self._run)
        if self._call.options.audio_bypass:
            self._run.audio_bypass = AudioBypass(
                self._play_direct,
                self._records.put,
                notify=self._notify if has_event_plugins(self._runner, (NAME, NODES)) else None,
                is_stock_runner=is_stock_runner(self._runner),
            )
        events = self._runner.run_live(
            user_id=self._call.origin.user,
            session_id=self._call.origin.session,
            live_request_queue=self._run.request_queue,
            run_config=run_config(self._call.options),
        )
        try:
            with self._watching():
                async with aclosing(events):
                    async for event in events:
                        await self._take(event)
        finally:
            self._run.close()
            await self._write_audio()
            await self._write_calls(is_over=True)
            await self._records.put(None)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(watch_cancellations(self._run.questions.cancel_calls))
            if self._calls is not None:
                stack.enter_context(watch_requests(self._calls.connect))
            yield

    async def _write_calls(self, *, is_over: bool = False) -> None:
        if self._calls is not None:
            for call in self._calls.close() if is_over else self._calls.take():
                await self._records.put(call)

    async def _take(self, event: Event) -> None:
        await self._write_calls()
        await self._record(event)
        if self._run.audio_bypass is not None:
            self._run.audio_bypass.event_left()

    async def _record(self, event: Event) -> None:
        chunks = audio_in(event)
        if chunks is not None:
            for due in self._play(event.author, chunks, lambda: event):
                await self._records.put(due)
            return
        if event.live_session_resumption_update is not None:
            return
        if not event.partial:  # a partial transcript may be recorded before its audio
            await self._write_audio()
        self._track_speech(event)
        await self._records.put(AgentEvent(self._serialiser.event(event)))
        if self._calls is not None:
            self._calls.read(event)
            await self._write_calls()
        for call in event.get_function_calls() if not event.partial else ():
            self._run.questions.logged(call.id or "").set()

    def _track_speech(self, event: Event) -> None:
        """Track whether the agent is speaking."""
        if event.turn_complete or event.interrupted:
            self._is_speaking = self._is_muted = False
            self._audio.end_turn()
        elif event.get_function_calls():
            self._is_speaking = (
                False  # what was said before a call is complete (`facts.live_turns`)
            )
        elif event.content is not None or event.output_transcription is not None:
            self._is_speaking = True

    def _play_direct(
        self, author: str, response: LlmResponse, chunks: list[PcmChunk]
    ) -> Sequence[AgentEvent]:
        """Take audio of the audio bypass."""
        return self._play(author, chunks, lambda: self._event(author, response))

    async def _notify(self, author: str, response: LlmResponse) -> None:
        """Take audio of the audio bypass after the app's plugins have seen it."""
        assert self._run.root is not None
        event = self._event(author, response)
        await self._take(await process_event(self._runner, event, self._run.root))

    def _event(self, author: str, response: LlmResponse) -> Event:
        """Return the event that ADK makes of a response (`flows/llm_flows/core/_finalizer.py`)."""
        fields = {name: getattr(response, name) for name in LlmResponse.model_fields}
        said = {name: value for name, value in fields.items() if value is not None}
        event = Event(id=Event.new_id(), invocation_id=self._call.invocation, author=author)
        return event.model_copy(update=said)

    def _play(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> Sequence[AgentEvent]:
        """Pass audio to the listener; return what of it is to be recorded now."""
        self._is_speaking = True
        if self._calls is not None:
            self._calls.play(author, chunks)
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
        self._remember(message)
        said = Event(
            id=message or Event.new_id(),
            invocation_id=self._call.invocation,
            author="user",
            content=content,
        )
        await self._write_audio()
        await self._records.put(AgentEvent(self._serialiser.event(said)))
        self._run.request_queue.send_content(content, partial)

    async def change_state(self, delta: Mapping[str, Any]) -> None:
        """Change the session's state; recorded here, because ADK stores it without an event."""
        changed = storable(delta)
        changed_event = Event(
            invocation_id=self._call.invocation,
            author="user",
            actions=EventActions(state_delta=changed),
        )
        await self._write_audio()
        await self._records.put(AgentEvent(self._serialiser.event(changed_event)))
        self._run.request_queue.send(LiveRequest(state_delta=changed))

    def _remember(self, message: str) -> None:
        if message:
            self._said[message] = None
        if len(self._said) > MAX_REMEMBERED:
            del self._said[next(iter(self._said))]

    def send_audio(self, pcm: bytes, media_type: str = MICROPHONE_TYPE) -> bool:
        """Send a chunk of the microphone's audio, or an image; return whether there was room for it."""
        return self._run.request_queue.send_audio(pcm, media_type)

    def signal_activity(self, *, starts: bool) -> None:
        """Signal to the model that the person starts or stops speaking, in any mode."""
        if starts:
            self._run.request_queue.send_activity_start()
        else:
            self._run.request_queue.send_activity_end()
        self._is_active = starts

    def end_audio(self) -> None:
        """Signal to the model that no more audio comes for now."""
        self._run.request_queue.send_audio_stream_end()

    def start_speech(self) -> None:
        """Handle that the person starts to speak; a model that does not detect it gets a signal."""
        if self._call.options.manual and not self._is_active:
            self._is_active = True
            self._run.request_queue.send_activity_start()

    def end_speech(self) -> None:
        """Handle that the person has stopped speaking, or switched the microphone off."""
        if not self._call.options.manual:
            self._run.request_queue.send_audio_stream_end()
        elif self._is_active:
            self._is_active = False
            self._run.request_queue.send_activity_end()

    async def interrupt(self, reason: str) -> None:
        """Interrupt the agent."""
        self._run.questions.abandon_all("The person interrupted.")
        self._is_muted = self._is_speaking
        await self._write_audio()
        await self._records.put(SpeakerInterrupted(reason=reason))
        self._interrupt_model()

    def _interrupt_model(self) -> None:
        """Interrupt the model in the way that it supports."""
        if self._call.options.manual:
            self.start_speech()
            return
        model = self._model()
        if isinstance(model, Gemini):
            if _IGNORES_CONTENT.match(model.model) is None:
                self._run.request_queue.send_content(types.UserContent(" "), partial=True)
        else:
            self._run.request_queue.send_activity_start()

    def _model(self) -> object:
        agent = self._run.agent or self._runner.agent
        return agent.canonical_live_model if isinstance(agent, LlmAgent) else None

    # ------------------------------------------------------------------ the end

    @property
    def is_over(self) -> bool:
        """Whether the run has ended or is ending."""
        return self._run.request_queue.closed or (self._driver is not None and self._driver.done())

    def close(self) -> None:
        """End the run; repeating it changes nothing."""
        if self.is_over:
            return
        self._run.questions.abandon_all("The session is over.")
        self._run.request_queue.close()
        driver = self._driver
        if driver is not None:
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, driver.cancel)

    def cancel(self) -> None:
        """Cancel the run."""
        self._is_cancelled = True
        self.close()
