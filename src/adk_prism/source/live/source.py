"""A live run of an in-process ADK Runner as a source of records.

Decides how google-adk 2.13's `Runner.run_live` is driven, and what of it enters the log:
- the run is the connection to the model. One task drives it; all that is to be recorded, whoever saw it,
  goes through one queue, so the log has one order;
- what the user writes is recorded here, since ADK stores it and says nothing;
- sound goes to whoever listens at once, and to the log gathered (`sound`);
- handles for the resumption of a model's session stay on the server;
- an interruption is recorded, what waits for a person is denied, and the model is told in the way it
  understands. Until it has ended its turn its sound is dropped.

It ends when the client has had enough (`close`): the model is told, and given half a second.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.agents.live_request_queue import LiveRequest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from adk_prism.diagnostics import Report, ignore
from adk_prism.errors import NotFound, Unprocessable
from adk_prism.runlog.entry import Agent, AgentEvent, Record, RunStarted, SpeakerInterrupted
from adk_prism.source.agents import list_agents
from adk_prism.source.contract import Emit
from adk_prism.source.live.audio_bypass import AudioBypass
from adk_prism.source.live.audio_log import AudioLog, PcmChunk, audio_in
from adk_prism.source.live.options import LiveCall, run_config
from adk_prism.source.live.pending_questions import (
    CURRENT_QUESTIONS,
    ApprovalDecision,
    ClientToolResult,
    PendingQuestions,
)
from adk_prism.source.live.plugin import NAME, live_plugin
from adk_prism.source.live.stock_flow import has_event_plugins, is_stock_runner
from adk_prism.source.plain_json import storable
from adk_prism.source.plugin import NAME as NODES
from adk_prism.source.redaction import Serialiser, state_json
from adk_prism.source.request import checked_message
from adk_prism.source.runner import first_cause
from adk_prism.version import VERSION

MAX_UNWRITTEN = 256
"""Records that may wait to be written before the model's next word is."""

REMEMBERED = 64
"""Messages that are known when they come again: more than wait for a connection that was lost."""

CLOSE_TIMEOUT = 0.5
"""Seconds that ADK has to end a run whose queue is closed: it takes milliseconds."""

HEARD_TYPE = "audio/pcm;rate=16000"
"""What a microphone sends: 16 kHz, 16 bits, one channel, as Gemini wants it."""

_IGNORES_CONTENT = re.compile(r"(?:.*/)?gemini-3")
"""Models that refuse content in the middle of a session, and are interrupted by speech alone."""

Listener = Callable[[PcmChunk], None]


class Stopped(Exception):
    """Somebody stopped the run."""


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
        """Prepare a run; nothing happens yet."""
        self._runner = runner
        self._call = call
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        self._serialiser = Serialiser(report, run=call.run, app=call.origin.app)
        self._records: asyncio.Queue[Record | None] = asyncio.Queue(MAX_UNWRITTEN)
        nonblocking_tools = live_plugin(runner, report).nonblocking_tools
        self._questions = PendingQuestions(
            call.invocation, call.options, nonblocking_tools, self._records.put
        )
        self._sound = AudioLog(call.options.audio_log_bytes, self._serialiser.event)
        self._driver: asyncio.Task[None] | None = None
        self._is_speaking = False
        self._is_muted = False
        self._is_active = False
        """The model has been told that the person speaks."""
        self._is_stopped = False
        self._said: dict[str, None] = {}
        """Ids of the last messages, in order."""
        self.listener: Listener | None = None
        """Is given the agent's sound, piece by piece, while somebody listens."""

    @property
    def correlation(self) -> str:
        """Of the last exception text that was kept from the log; empty if there was none."""
        return self._serialiser.correlation

    # ------------------------------------------------------------------ the run

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Run until the client or the model ends it. Raise `NotFound` before the first record."""
        del emit  # all that is seen here goes through one queue
        yield await self._started()
        self._driver = asyncio.create_task(self._drive(), name=f"live {self._call.run}")
        try:
            while (record := await self._records.get()) is not None:
                yield record
        finally:
            self._driver.cancel()  # what ran to its end stays as it ended
            await asyncio.wait([self._driver])
            self._questions.close()
        self._judge(self._driver)

    def _judge(self, driver: asyncio.Task[None]) -> None:
        """Raise what ended the run badly. Being cut short when it was told to end is no failure."""
        if self._is_stopped:
            raise Stopped
        if driver.cancelled():
            if not self._questions.request_queue.closed:
                raise asyncio.CancelledError
            return
        error = driver.exception()
        if isinstance(error, BaseExceptionGroup):
            raise first_cause(error) from error
        if error is not None:
            raise error

    async def _started(self) -> RunStarted:
        origin = self._call.origin
        session = await self._runner.session_service.get_session(
            app_name=self._runner.app_name,
            user_id=origin.user,
            session_id=origin.session,
            config=GetSessionConfig(num_recent_events=0),
        )
        if session is None:
            raise NotFound(f"There is no session {origin.session[:60]!r}; create it first.")
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
        CURRENT_QUESTIONS.set(self._questions)
        if self._call.options.audio_bypass:
            self._questions.audio_bypass = AudioBypass(
                self._spoken,
                self._records.put,
                self._questions.cancel_calls,
                show=self._show if has_event_plugins(self._runner, (NAME, NODES)) else None,
                is_open=is_stock_runner(self._runner),
            )
        events = self._runner.run_live(
            user_id=self._call.origin.user,
            session_id=self._call.origin.session,
            live_request_queue=self._questions.request_queue,
            run_config=run_config(self._call.options),
        )
        try:
            async with aclosing(events):
                async for event in events:
                    await self._take(event)
        finally:
            self._questions.close()
            await self._put_sound()
            await self._records.put(None)

    async def _take(self, event: Event) -> None:
        await self._record(event)
        if self._questions.audio_bypass is not None:
            self._questions.audio_bypass.event_left()

    async def _record(self, event: Event) -> None:
        pieces = audio_in(event)
        if pieces is not None:
            for due in self._play(event.author, pieces, lambda: event):
                await self._records.put(due)
            return
        if event.live_session_resumption_update is not None:
            return
        if not event.partial:  # words that are still being said need not stand before their sound
            await self._put_sound()
        self._follow(event)
        await self._records.put(AgentEvent(self._serialiser.event(event)))
        for call in event.get_function_calls() if not event.partial else ():
            self._questions.seen(call.id or "").set()

    def _follow(self, event: Event) -> None:
        """Follow whether the agent speaks."""
        if event.turn_complete or event.interrupted:
            self._is_speaking = self._is_muted = False
            self._sound.end_turn()
        elif event.get_function_calls():
            self._is_speaking = False  # who calls has said what came before (`facts.live_turns`)
        elif event.content is not None or event.output_transcription is not None:
            self._is_speaking = True

    def _spoken(
        self, speaker: str, response: LlmResponse, pieces: list[PcmChunk]
    ) -> Sequence[AgentEvent]:
        """Take sound that came the short way, as if it had come the long one."""
        return self._play(speaker, pieces, lambda: self._event(speaker, response))

    async def _show(self, speaker: str, response: LlmResponse) -> None:
        """Take sound that came the short way, after all plugins have been shown it."""
        assert self._questions.root is not None
        event = await self._runner._process_and_append_event(
            self._event(speaker, response), self._questions.root, is_live_call=True
        )
        await self._take(event)

    def _event(self, speaker: str, response: LlmResponse) -> Event:
        """Return the event that ADK makes of a response (`flows/llm_flows/core/_finalizer.py`)."""
        fields = {name: getattr(response, name) for name in LlmResponse.model_fields}
        said = {name: value for name, value in fields.items() if value is not None}
        event = Event(id=Event.new_id(), invocation_id=self._call.invocation, author=speaker)
        return event.model_copy(update=said)

    def _play(
        self, speaker: str, pieces: list[PcmChunk], event: Callable[[], Event]
    ) -> Sequence[AgentEvent]:
        """Let it be heard; return what of it is to be recorded now."""
        self._is_speaking = True
        if self._is_muted:
            return ()
        if self.listener is not None:
            for piece in pieces:
                self.listener(piece)
        return self._sound.add(speaker, pieces, event)

    async def _put_sound(self) -> None:
        for due in self._sound.flush():
            await self._records.put(due)

    # ------------------------------------------------------------------ what a client may do

    async def say(self, content: types.Content, message: str = "", partial: bool = False) -> None:
        """Send what the user wrote, under the message's id; the same id again is the same message.

        After a `partial` one the model waits for more.

        Raise `Unprocessable` for what ADK refuses.
        """
        if message in self._said:
            return  # a client that came back could not know that it had arrived
        content = checked_message(content)
        if any(part.function_response for part in content.parts or ()):
            raise Unprocessable("Results of tools and approvals are not said; send them as such.")
        self._remember(message)
        said = Event(
            id=message or Event.new_id(),
            invocation_id=self._call.invocation,
            author="user",
            content=content,
        )
        await self._put_sound()
        await self._records.put(AgentEvent(self._serialiser.event(said)))
        self._questions.request_queue.send_content(content, partial)

    async def change_state(self, delta: Mapping[str, Any]) -> None:
        """Change the session's state; ADK stores it, and does not tell it as an event."""
        changed = storable(delta)
        told = Event(
            invocation_id=self._call.invocation,
            author="user",
            actions=EventActions(state_delta=changed),
        )
        await self._put_sound()
        await self._records.put(AgentEvent(self._serialiser.event(told)))
        self._questions.request_queue.send(LiveRequest(state_delta=changed))

    def _remember(self, message: str) -> None:
        if message:
            self._said[message] = None
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]

    def hear(self, pcm: bytes, media_type: str = HEARD_TYPE) -> bool:
        """Send a piece of what the microphone hears, or a picture; tell whether there was room for it."""
        return self._questions.request_queue.hear(pcm, media_type)

    def tell_activity(self, *, begins: bool) -> None:
        """Tell the model that the person begins, or stops, to speak, whoever found that out."""
        if begins:
            self._questions.request_queue.begin_activity()
        else:
            self._questions.request_queue.end_activity()
        self._is_active = begins

    def end_sound(self) -> None:
        """Say that no more sound comes for now."""
        self._questions.request_queue.end_sound()

    def begin_speech(self) -> None:
        """The person begins to speak: told to a model that does not find out by itself."""
        if self._call.options.manual and not self._is_active:
            self._is_active = True
            self._questions.request_queue.begin_activity()

    def end_speech(self) -> None:
        """The person has spoken, or switched the microphone off."""
        if not self._call.options.manual:
            self._questions.request_queue.end_sound()
        elif self._is_active:
            self._is_active = False
            self._questions.request_queue.end_activity()

    async def interrupt(self, reason: str) -> None:
        """Cut the agent off."""
        self._questions.abandon_all("The person interrupted.")
        self._is_muted = self._is_speaking
        await self._put_sound()
        await self._records.put(SpeakerInterrupted(reason=reason))
        self._signal()

    def _signal(self) -> None:
        """Tell the model that it is interrupted, in the way that it understands."""
        if self._call.options.manual:
            self.begin_speech()
            return
        model = self._model()
        if isinstance(model, Gemini):
            if _IGNORES_CONTENT.match(model.model) is None:
                self._questions.request_queue.send_content(types.UserContent(" "), partial=True)
        else:
            self._questions.request_queue.begin_activity()

    def _model(self) -> object:
        agent = next(
            (c.agent for c in reversed(self._questions.contexts.values())), self._runner.agent
        )
        return agent.canonical_live_model if isinstance(agent, LlmAgent) else None

    def decide(self, approval: str, decision: ApprovalDecision) -> None:
        """Answer an approval. Raise `Conflict` or `NotFound`."""
        self._questions.decide(approval, decision)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Give the result of a client's tool. Raise `Conflict` or `NotFound`."""
        self._questions.give_result(call, result)

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Give the result of the last call of ADK's id. Raise `Conflict` or `NotFound`."""
        self._questions.give_result_by_adk_id(adk_id, result)

    # ------------------------------------------------------------------ the end

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, or is about to."""
        return self._questions.request_queue.closed or (
            self._driver is not None and self._driver.done()
        )

    def close(self) -> None:
        """End the run; repeating it changes nothing."""
        if self.is_over:
            return
        self._questions.abandon_all("The session is over.")
        self._questions.request_queue.close()
        driver = self._driver
        if driver is not None:
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, driver.cancel)

    def cancel(self) -> None:
        """Stop the run."""
        self._is_stopped = True
        self.close()
